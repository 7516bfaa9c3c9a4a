"""Unpacking what a server has compressed. Pure.

Not with urllib3's decoders: those forgive a broken gzip member behind a good one, and all that comes after it would be
lost in silence; and before urllib3 2.6 they unpack a piece as a whole, however much that is.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

from urllib3.exceptions import DecodeError

_UNPACKED = {"gzip", "x-gzip", "deflate"}
_EITHER_HEADER = zlib.MAX_WBITS | 32
_MOST_CODINGS = 4
_SLICE_BYTES = 16 * 1024


def unpacked(pieces: Iterator[bytes], coding: str, limit: int, check: Callable[[], None]) -> Iterator[bytes]:
    """The *pieces* of a body without its content coding, as soon as it can be, each of *limit* bytes at most.

    DecodeError for what is broken, and for a coding that is not known. *check* is called now and then, and may raise:
    little that has come can unpack to much, or to nothing for a long time.
    """
    names = [part.strip() for part in coding.lower().split(",")]
    if len(names) > _MOST_CODINGS:
        raise DecodeError(f"{len(names)} content codings are too many")
    for name in names:  # in any order: each member tells what it is
        if name in _UNPACKED:
            pieces = _inflated(pieces, limit, check)
        elif name not in ("", "identity"):
            raise DecodeError(f"the content coding {name!r} is not known")
    return pieces


def _inflated(pieces: Iterator[bytes], limit: int, check: Callable[[], None]) -> Iterator[bytes]:
    """Member by member: Kubernetes 1.37 ends one at each flush (kubernetes#139925)."""
    member = zlib.decompressobj(_EITHER_HEADER)
    begun = False
    for piece in _slices(pieces):
        begun, rest = True, piece
        check()
        while rest:
            if member.eof:
                member = zlib.decompressobj(_EITHER_HEADER)
            try:
                data = member.decompress(rest, limit)
            except zlib.error as error:
                raise DecodeError(f"the answer cannot be unpacked: {error}") from error
            rest = member.unconsumed_tail or member.unused_data
            if data:
                yield data
    if begun and not member.eof:
        raise DecodeError("the answer ends in the middle of what was packed")


def _slices(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Small ones, because what follows a member is copied for each of many little members."""
    for piece in pieces:
        for start in range(0, len(piece), _SLICE_BYTES):
            yield piece[start : start + _SLICE_BYTES]
