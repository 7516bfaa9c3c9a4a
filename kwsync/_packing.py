"""Records whose bytes are compressed, by a dictionary that was trained with the first of them. Pure.

What makes Kubernetes' objects long is the same in all of one kind: with a dictionary of it a pod of 4 kB becomes one of
half a kilobyte, where without one it would be a kilobyte and a half. It is trained once, when there are enough objects
to learn from; until then they stay as they are.
"""

from __future__ import annotations

import struct
import weakref
from collections import deque
from types import ModuleType
from typing import TYPE_CHECKING

from kwsync._events import ObjectKey
from kwsync._records import Record
from kwsync.errors import ConfigError

if TYPE_CHECKING:
    import zstandard

SAMPLE = 500
"""How many objects the dictionary is trained with; where there are fewer, nothing is gained by packing them."""

SAMPLE_BYTES = 8192
"""What is looked at of each: it bounds the time, and long objects are compressed well by themselves."""

DICTIONARY_BYTES = 32768
"""A larger one makes no difference for objects of one kind."""

SEGMENTS = {"k": 2000, "d": 8}
"""How long a piece of a sample may come into the dictionary. To have this tried out takes five times as long."""

LEVEL = 3
"""From 5 on a level costs five times the time, for a tenth of the size at most."""

MOST_IDLE = 8
"""Decompressors, of 0.2 MB each, that are kept for the next reader."""


class Packing:
    """Packs the records of one informer. One thread at a time packs; any threads may read what is packed."""

    def __init__(self) -> None:
        try:
            self._zstandard = _load_zstandard()
        except ImportError:
            raise ConfigError('compress=True needs zstandard: pip install "kwsync[zstd]"') from None
        self._unpacked: weakref.WeakSet[Packed] = weakref.WeakSet()  # what is forgotten is no sample
        self._codec: Codec | None = None

    def pack(self, record: Record) -> Record:
        """The same state of the same object, compressed now, or as soon as there are enough of them."""
        packed = Packed(record)
        if self._codec is not None:
            packed.pack(self._codec)
        else:
            self._unpacked.add(packed)
            if len(self._unpacked) >= SAMPLE:
                self._train()
        return packed

    def _train(self) -> None:
        records = list(self._unpacked)
        self._codec = Codec(self._zstandard, [record.raw[:SAMPLE_BYTES] for record in records])
        self._unpacked.clear()
        for record in records:
            record.pack(self._codec)


def _load_zstandard() -> ModuleType:
    """The one seam to zstandard; ImportError where it is not installed."""
    import zstandard

    return zstandard


class Codec:
    """Bytes to fewer bytes, and back.

    An object of zstandard may not be used by two threads at once (it lets go of the interpreter's lock, and checks
    nothing). So each reader takes a decompressor that nobody else has, or a new one, and gives it back: no lock that a
    signal handler or a forked child could find taken, and no more of them than there were readers at one time.
    """

    def __init__(self, library: ModuleType, samples: list[bytes]) -> None:
        self._library = library
        self._dictionary = _trained(library, samples)
        self._compressor: zstandard.ZstdCompressor = library.ZstdCompressor(
            level=LEVEL, dict_data=self._dictionary, write_dict_id=False
        )
        self._idle: deque[zstandard.ZstdDecompressor] = deque(maxlen=MOST_IDLE)
        self.unpack(
            self.pack(samples[0])
        )  # the first use makes the dictionary ready, which must not happen twice at once

    def pack(self, raw: bytes) -> bytes:
        """For one thread at a time."""
        return self._compressor.compress(raw)

    def unpack(self, packed: bytes) -> bytes:
        """For any thread."""
        try:
            decompressor = self._idle.pop()
        except IndexError:
            decompressor = self._library.ZstdDecompressor(dict_data=self._dictionary)
        raw = decompressor.decompress(packed)
        self._idle.append(decompressor)
        return raw


def _trained(library: ModuleType, samples: list[bytes]) -> zstandard.ZstdCompressionDict:
    try:
        trained: zstandard.ZstdCompressionDict = library.train_dictionary(DICTIONARY_BYTES, samples, **SEGMENTS)
        return trained
    except library.ZstdError:  # it found nothing in them that it would learn: then they are the dictionary
        content = b"".join(samples)[:DICTIONARY_BYTES]
        plain: zstandard.ZstdCompressionDict = library.ZstdCompressionDict(content, library.DICT_TYPE_RAWCONTENT)
        return plain


class Packed(Record):
    """A record that unpacks its bytes each time they are looked at."""

    __slots__ = ("__weakref__", "_codec", "_kept", "_key")

    def __init__(self, record: Record) -> None:
        self._key = record.key
        self._codec: Codec | None = None
        self._kept: Record | bytes = record
        """The record as it was; or, in one piece, since each costs fifty bytes more, all of it: see `_HEAD`."""

    def pack(self, codec: Codec) -> None:
        """Keep it in fewer bytes, if it takes fewer. Others may read meanwhile."""
        record = self._kept
        if isinstance(record, Record):
            packed = _joined(record, codec.pack(record.raw))
            if packed is not None and len(packed) < len(record.raw):
                self._codec = codec  # first, so that whoever sees packed bytes can read them
                self._kept = packed

    @property
    def key(self) -> ObjectKey:
        """As it was."""
        return self._key

    @property
    def uid(self) -> str:
        """Known without unpacking."""
        kept = self._kept
        return kept.uid if isinstance(kept, Record) else _text_of(kept[_UID : _UID + kept[0]])

    @property
    def version(self) -> str:
        """Known without unpacking."""
        kept = self._kept
        if isinstance(kept, Record):
            return kept.version
        start = _UID + kept[0]
        return str(kept[start : start + kept[1]], "utf-8")

    @property
    def raw(self) -> bytes:
        """Unpacked anew each time."""
        kept, codec = self._kept, self._codec
        if isinstance(kept, Record):
            return kept.raw
        assert codec is not None
        return codec.unpack(kept[_UID + kept[0] + kept[1] :])

    @property
    def source(self) -> int:
        """Known without unpacking."""
        kept = self._kept
        if isinstance(kept, Record):
            return kept.source
        source: int = _HEAD.unpack_from(kept)[2]
        return source

    def was_sent_as(self, raw: bytes) -> bool:
        """By the hash alone: equal versions have told most already."""
        kept = self._kept
        return kept.was_sent_as(raw) if isinstance(kept, Record) else self.source == hash(raw)


_HEAD = struct.Struct("=BBq")
"""What packed bytes begin with: the lengths of uid and version, and the hash of what the server sent. Then come uid,
version, and the JSON, compressed."""

_UID = _HEAD.size


def _joined(record: Record, packed: bytes) -> bytes | None:
    """None where the words cannot be kept that way: too long, no Unicode, a uid that would be taken for a UUID."""
    try:
        uid, version = _bytes_of(record.uid), record.version.encode()
        head = _HEAD.pack(len(uid), len(version), record.source)
    except (struct.error, UnicodeEncodeError):
        return None
    return b"".join((head, uid, version, packed)) if _text_of(uid) == record.uid else None


_UUID_BYTES = 16


def _bytes_of(uid: str) -> bytes:
    """The number that a UUID is; else the text."""
    try:
        number = bytes.fromhex(uid.replace("-", ""))
    except ValueError:
        return uid.encode()
    return number if len(number) == _UUID_BYTES and _text_of(number) == uid else uid.encode()


def _text_of(uid: bytes) -> str:
    if len(uid) != _UUID_BYTES:
        return str(uid, "utf-8")
    text = uid.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
