"""What a certificate says of itself, without a library for certificates: whose it is, and how long it lasts. Pure.

DER (ITU-T X.690) is a tree of elements with a tag and a length; of RFC 5280's certificate three branches are read.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from datetime import datetime, timezone

import attrs

_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
_VERSION, _UTC_TIME, _GENERALIZED_TIME = 0xA0, 0x17, 0x18
_COMMON_NAME, _ORGANIZATION = b"\x55\x04\x03", b"\x55\x04\x0a"


@attrs.frozen
class CertificateFacts:
    """What the first certificate of a file says."""

    common_name: str
    """To Kubernetes the user's name."""
    organizations: tuple[str, ...]
    """To Kubernetes the user's groups."""
    begins_at: float
    """Seconds since 1970."""
    expires_at: float


def facts_of(pem: bytes) -> CertificateFacts | None:
    """None for what is no certificate, or one that is written in another way."""
    found = _PEM.search(pem)
    try:
        return None if found is None else _facts(base64.b64decode(found[1]))
    except (ValueError, IndexError, OverflowError):
        return None


def elements(der: bytes) -> list[bytes]:
    """The elements that stand one behind another, whole; none where the bytes are no DER."""
    try:
        return [whole for _, _, whole in _read(der)]
    except (ValueError, IndexError):
        return []


def _facts(der: bytes) -> CertificateFacts:
    [(_, certificate, _)] = _read(der)
    signed = next(_read(certificate))[1]
    fields = [content for tag, content, _ in _read(signed) if tag != _VERSION]
    begin, end = (_moment(tag, content) for tag, content, _ in _read(fields[3]))
    names = list(_names(fields[4]))
    return CertificateFacts(
        common_name=next((value for kind, value in names if kind == _COMMON_NAME), ""),
        organizations=tuple(value for kind, value in names if kind == _ORGANIZATION),
        begins_at=begin,
        expires_at=end,
    )


def _read(der: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Tag, content, and both with the length between them, of one element behind another."""
    at = 0
    while at < len(der):
        tag, length, begin = der[at], der[at + 1], at + 2
        if length & 0x80:
            begin += length & 0x7F
            length = int.from_bytes(der[at + 2 : begin], "big")
        end = begin + length
        if end > len(der):
            raise ValueError("an element is longer than what it stands in")
        yield tag, der[begin:end], der[at:end]
        at = end


def _names(subject: bytes) -> Iterator[tuple[bytes, str]]:
    for _, several, _ in _read(subject):
        for _, pair, _ in _read(several):
            (_, kind, _), (_, value, _) = _read(pair)
            yield kind, value.decode("utf-8", "replace")


def _moment(tag: int, content: bytes) -> float:
    """Both forms end in Z; a year of two digits lies between 1950 and 2049."""
    text = content.decode("ascii")
    if tag == _UTC_TIME:
        text = ("19" if text >= "50" else "20") + text
    elif tag != _GENERALIZED_TIME:
        raise ValueError("no time")
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=timezone.utc).timestamp()
