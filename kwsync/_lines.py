"""Bytes to lines, in linear time and bounded memory. Pure."""

from __future__ import annotations

import io


class LineSplitter:
    r"""Cuts a stream of byte chunks at 0x0A and at nothing else.

    Other characters that Unicode calls line breaks stand inside JSON strings (U+0085, U+2028), so bytes are split,
    never text; that also makes a character cut across two chunks whole again. A piece is scanned once, when it comes,
    and copied into one buffer: a list of pieces of two bytes would take twenty times their size.
    """

    def __init__(self, max_line_bytes: int) -> None:
        self._limit = max_line_bytes
        self._buffer = io.BytesIO()
        self._size = 0
        self.overflow = False
        """A line is longer than the limit: `feed` has returned all the lines before it, and takes no more."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that *chunk* completes, without their newline."""
        if self.overflow:
            return []
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and self._size:
            self._buffer.write(lines[0])
            lines[0] = self._buffer.getvalue()
            self._clear()
        if rest:
            self._size += self._buffer.write(rest)
        if self._size > self._limit or (lines and len(chunk) + len(lines[0]) > self._limit):
            return self._before_overflow(lines)
        return lines

    def rest(self) -> bytes:
        """What has come of a line that is not complete."""
        return self._buffer.getvalue()

    def _before_overflow(self, lines: list[bytes]) -> list[bytes]:
        for index, line in enumerate(lines):
            if len(line) > self._limit:
                self._overflowed()
                return lines[:index]
        if self._size > self._limit:
            self._overflowed()
        return lines

    def _overflowed(self) -> None:
        self.overflow = True
        self._clear()

    def _clear(self) -> None:
        # A fresh buffer: the old one shares its memory with the line that was taken out.
        self._buffer = io.BytesIO()
        self._size = 0


class DocumentJoiner:
    """Puts a pretty-printed JSON object together again: a line that is just ``{``, up to one that is just ``}``.

    Some servers and proxies indent an answer that should have been one line (a Status with HTTP 200 above all). Lines
    of any other kind pass unchanged.
    """

    def __init__(self, max_bytes: int) -> None:
        self._limit = max_bytes
        self._lines: list[bytes] = []
        self._size = 0

    def feed(self, line: bytes) -> list[bytes]:
        """The documents that this line completes; an opening that turns out to be none comes out line by line."""
        bare = line.rstrip(b"\r ")
        if not self._lines:
            return self._begin(line) if bare == b"{" else [line]
        if self.is_broken_by(line) or self._size > self._limit:
            return [*self.rest(), *self.feed(line)]
        self._add(line)
        return [b"\n".join(self.rest())] if bare == b"}" else []

    def is_broken_by(self, line: bytes) -> bool:
        """Does a document wait for its end, and is this line no part of it?"""
        return bool(self._lines) and line[:1] not in b" \t\r}]"

    def rest(self) -> list[bytes]:
        """The lines that wait for their end; they are forgotten."""
        lines, self._lines, self._size = self._lines, [], 0
        return lines

    def _begin(self, line: bytes) -> list[bytes]:
        self._add(line)
        return []

    def _add(self, line: bytes) -> None:
        self._lines.append(line)
        self._size += len(line) + 1
