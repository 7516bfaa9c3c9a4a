"""PEM, and what is given in its place: base64 of it (as in a kubeconfig), or DER. Pure."""

from __future__ import annotations

import base64
import binascii
import re

_BEGIN, _END = b"-----BEGIN ", re.compile(rb"-----END [^\r\n]+?-----")


def is_whole(data: bytes) -> bool:
    """Is it PEM, to the last line? A file may be read while it is written, and an answer may break off."""
    return 0 < data.count(_BEGIN) == len(_END.findall(data))


def pem_of(data: str | bytes) -> bytes | None:
    """Whole PEM, from PEM or base64 of it, with any white space in between; None for what is neither."""
    given = data.encode("utf-8", "replace") if isinstance(data, str) else data
    if is_whole(given):
        return given
    try:
        decoded = base64.b64decode(b"".join(given.split()), validate=True)
    except binascii.Error:
        return None
    return decoded if is_whole(decoded) else None


def pem_of_der(certificate: bytes) -> bytes:
    """A certificate as PEM."""
    return b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(certificate) + b"-----END CERTIFICATE-----\n"
