"""Recorded exchanges with a real API server."""

from __future__ import annotations

import http.client
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from kwsync.testing._headers import Headers


@dataclass(frozen=True)
class Transcript:
    """One exchange; `answer` is raw, to be served as it is by `RawBytes(answer, keep_alive=True)`."""

    request_line: str
    request_headers: Headers
    body: bytes
    """Of the request."""
    answer: bytes
    reads: tuple[tuple[float, int], ...] = ()
    """For each read of the socket: seconds since the request, bytes of the answer in all (NAME.times)."""
    ending: str = ""
    """`zero-chunk`, `content-length`, `eof` or `cut by the client`; empty without NAME.times."""

    @classmethod
    def read(cls, path: str | Path) -> Transcript:
        """Read NAME.http, and NAME.times beside it if there is one."""
        head, rest = Path(path).read_bytes().split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = Headers([cast("tuple[str, str]", tuple(line.split(": ", 1))) for line in lines])
        size = int(headers.get("Content-Length", "0"))
        # A body is followed by one more line end.
        answer = rest[size + 2 :] if "Content-Length" in headers else rest
        return cls(first, headers, rest[:size], answer, *_read_times(Path(path).with_suffix(".times")))

    @property
    def status(self) -> int:
        """The status code of the answer."""
        return self._response()[0].status

    @property
    def answer_headers(self) -> Headers:
        """The headers of the recorded answer."""
        return Headers(self._response()[0].getheaders())

    @property
    def answer_body(self) -> bytes:
        """Without the chunk framing; a content encoding is left alone."""
        return self._response()[1]

    @property
    def events(self) -> list[dict[str, Any]]:
        """The watch events of an uncompressed JSON answer; half a line at its end is none."""
        return [json.loads(line) for line in self.answer_body.split(b"\n")[:-1] if line.strip()]

    @property
    def pieces(self) -> list[bytes]:
        """The answer, cut where the recording client's reads ended."""
        ends = [end for _, end in self.reads]
        return [self.answer[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def _response(self) -> tuple[http.client.HTTPResponse, bytes]:
        response = http.client.HTTPResponse(cast("Any", _Recorded(self.answer)))
        response.begin()
        try:
            return response, response.read()
        except http.client.IncompleteRead as error:
            # The recording of a server that died, or of a client that had seen enough.
            return response, error.partial


class _Recorded(io.BytesIO):
    """Bytes in the dress of a socket."""

    def makefile(self, _mode: str) -> io.BytesIO:
        return self


def _read_times(path: Path) -> tuple[tuple[tuple[float, int], ...], str]:
    if not path.exists():
        return (), ""
    reads, ending = [], ""
    for line in path.read_text().splitlines():
        seconds, rest = line.split(" ", 1)
        if rest.startswith("end "):
            ending = rest[4:]
        else:
            reads.append((float(seconds), int(rest)))
    return tuple(reads), ending
