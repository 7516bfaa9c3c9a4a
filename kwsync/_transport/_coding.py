"""Unpacking what a server has compressed. Pure.

Not with urllib3's decoders: those forgive a broken gzip member behind a good one, and all that comes after it would be
lost in silence; and before urllib3 2.6 they unpack a piece as a whole, however much that is.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from urllib3.exceptions import DecodeError

_UNPACKED = {"gzip", "x-gzip", "deflate"}
_EITHER_HEADER = zlib.MAX_WBITS | 32


def unpacked(pieces: Iterator[bytes], coding: str, limit: int) -> Iterator[bytes]:
    """The *pieces* of a body without its content coding, as soon as it can be, each of *limit* bytes at most.

    DecodeError for what is broken, and for a coding that is not known.
    """
    for name in (part.strip() for part in coding.lower().split(",")):  # in any order: each member tells what it is
        if name in _UNPACKED:
            pieces = _inflated(pieces, limit)
        elif name not in ("", "identity"):
            raise DecodeError(f"the content coding {name!r} is not known")
    return pieces


def _inflated(pieces: Iterator[bytes], limit: int) -> Iterator[bytes]:
    """Member by member: Kubernetes 1.37 ends one at each flush (kubernetes#139925)."""
    member = zlib.decompressobj(_EITHER_HEADER)
    begun = False
    for piece in pieces:
        rest = piece
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
        begun = True
    if begun and not member.eof:
        raise DecodeError("the answer ends in the middle of what was packed")
