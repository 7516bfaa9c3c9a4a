"""The head of a request, as RFC 9112 has it and not otherwise: where two readers may differ, it is refused. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from kwsync.testing._headers import Headers

MAX_HEAD_BYTES = 1 << 20
MAX_HEADERS = 1000
_SHOWN = 40

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_VERSION = re.compile(r"HTTP/1\.[01]")
_PATH = re.compile(r"/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")
_QUERY = re.compile(r"(?:[^%#\x00-\x20\x7f-\xff]|%[0-9A-Fa-f]{2})*")
_ABSOLUTE = re.compile(r"(https?://[^/?#@]+)(.*)", re.IGNORECASE)
_AUTHORITY = re.compile(r"[^/?#@]+:[0-9]+")
_HOST = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:%\[\]-]*")
_LENGTH = re.compile(r"[0-9]{1,18}")


class BadRequest(Exception):
    """What arrived is not an HTTP/1.x request, or one that is not served; `code` says how."""

    def __init__(self, message: str, code: int = 400) -> None:
        super().__init__(message)
        self.code = code


class Head(NamedTuple):
    """A request line and its headers."""

    method: str
    target: str
    version: str
    path: str
    """Still escaped; for CONNECT the host and port."""
    query: str
    headers: Headers

    @property
    def length(self) -> int | None:
        """The bytes of the body; None where it comes in chunks. Raises BadRequest when nobody can say."""
        encodings, lengths = self.headers.all("Transfer-Encoding"), self.headers.all("Content-Length")
        if len(lengths) + len(encodings) > 1:
            raise BadRequest("the length of the body is said twice")
        if encodings and encodings[0].lower() != "chunked":
            raise BadRequest(f"unsupported transfer encoding: {encodings[0]!r}", 501)
        if lengths and not _LENGTH.fullmatch(lengths[0]):
            raise BadRequest(f"bad Content-Length: {lengths[0][:_SHOWN]!r}")
        return None if encodings else int(lengths[0]) if lengths else 0

    @property
    def awaits_continue(self) -> bool:
        """Whether the client waits for a 100 before it sends the body. Raises BadRequest for what else it expects."""
        expected = self.headers.get("Expect", "").lower()
        if expected not in ("", "100-continue"):
            raise BadRequest(f"cannot meet the expectation {expected!r}", 417)
        return bool(expected) and self.length != 0


def check_unfinished(head: bytes | bytearray) -> None:
    """Raise BadRequest for a head that no further byte can complete."""
    # Among them TLS hellos, in which a line end may never come.
    if head and not _TOKEN.match(chr(head[0])):
        raise _no_request(head)
    _check_size(head)
    ends = head.count(b"\r\n")
    if head.count(b"\n") != ends or head.count(b"\r", 0, -1) != ends:
        raise BadRequest("a line feed or carriage return on its own")


def parse_head(head: bytes) -> Head:
    """Read a whole head, without the empty line. Raises BadRequest."""
    _check_size(head)
    first, *lines = head.decode("latin-1").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not _TOKEN.fullmatch(parts[0]):
        raise _no_request(head)
    method, target, version = parts
    if not _VERSION.fullmatch(version):
        raise BadRequest(f"not HTTP/1.x: {first[-_SHOWN:]!r}")
    path, query = _split(method, target)
    headers = Headers([parse_header(line) for line in lines])
    _check_host(headers.all("Host"), version)
    return Head(method, target, version, path, query, headers)


def _check_host(hosts: list[str], version: str) -> None:
    if not hosts and version == "HTTP/1.1":
        raise BadRequest("missing required Host header")
    if len(hosts) > 1:
        raise BadRequest("too many Host headers")
    if hosts and not _HOST.fullmatch(hosts[0]):
        raise BadRequest("malformed Host header")


def parse_header(line: str) -> tuple[str, str]:
    """Read one line, without its end. Raises BadRequest."""
    name, colon, value = line.partition(":")
    if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
        raise BadRequest(f"not a header: {line[:_SHOWN]!r}")
    return name, value.strip(" \t")


def _check_size(head: bytes | bytearray) -> None:
    if len(head) > MAX_HEAD_BYTES:
        in_headers = b"\r\n" in head[:MAX_HEAD_BYTES]
        raise BadRequest("the headers are too long", 431) if in_headers else BadRequest("the target is too long", 414)
    if head.count(b"\r\n") > MAX_HEADERS:
        raise BadRequest(f"more than {MAX_HEADERS} headers", 431)


def _split(method: str, target: str) -> tuple[str, str]:
    """The path and the query of a target in any of its four forms."""
    if method == "CONNECT":
        if not _AUTHORITY.fullmatch(target):
            raise _bad_target(target)
        _check_authority(f"//{target}", target)
        return target, ""
    if method == "OPTIONS" and target == "*":
        return target, ""
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute:
        _check_authority(absolute[1], target)
    path, _, query = (absolute[2] if absolute else target).partition("?")
    path = path or ("/" if absolute else "")
    if not _PATH.fullmatch(path) or not _QUERY.fullmatch(query):
        raise _bad_target(target)
    return path, query


def _check_authority(url: str, target: str) -> None:
    try:
        # Both look at what they give: brackets, and a number that is a port.
        urlsplit(url).port  # noqa: B018
    except ValueError:
        raise _bad_target(target) from None


def _bad_target(target: str) -> BadRequest:
    return BadRequest(f"not a target: {target[:_SHOWN]!r}")


def _no_request(head: bytes | bytearray) -> BadRequest:
    return BadRequest(f"not an HTTP request: {bytes(head[:_SHOWN])!r}")
