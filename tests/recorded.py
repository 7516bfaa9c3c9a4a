"""The exchanges with a real API server below tests/transcripts, taken apart."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

TRANSCRIPTS = Path(__file__).parent / "transcripts"


class Exchange(NamedTuple):
    """One request and its answer; the body is without its chunk borders."""

    method: str
    target: str
    status: int
    body: bytes


def names(*patterns: str) -> list[str]:
    """The names of the exchanges that fit one of the shell patterns."""
    return sorted({file.stem for pattern in patterns for file in TRANSCRIPTS.glob(f"{pattern}.http")})


def exchange(name: str) -> Exchange:
    """Read one exchange."""
    request, _, rest = (TRANSCRIPTS / f"{name}.http").read_bytes().partition(b"\r\n\r\n")
    answer = rest[rest.index(b"HTTP/1.1 ") :]
    head, _, body = answer.partition(b"\r\n\r\n")
    method, target, _ = request.split(b"\r\n")[0].decode().split()
    if b"transfer-encoding: chunked" in head.lower():
        body = _joined(body)
    return Exchange(method, target, int(head.split()[1]), body)


def _joined(body: bytes) -> bytes:
    data = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size, 16)
        data, body = data + body[:length], body[length + 2 :]
    return data
