"""The bodies that the server sends: events in lines, lines in chunks."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from .pods import make_pod


def event_line(kind: str, pod: dict[str, Any]) -> bytes:
    """One event as a server writes it, with its newline."""
    return json.dumps({"type": kind, "object": pod}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def event_lines(count: int) -> list[bytes]:
    """*count* events: half of them ADDED, then changes and some deletions."""
    random = Random(count)
    kinds = ["ADDED"] * (count // 2) + random.choices(("MODIFIED", "DELETED"), (9, 1), k=count - count // 2)
    return [event_line(kind, make_pod(random, number)) for number, kind in enumerate(kinds)]


def long_line(size: int) -> bytes:
    """One event of about *size* bytes, nearly all of them one annotation."""
    pod = make_pod(Random(size), 0)
    pod["metadata"]["annotations"] = {"example.com/blob": "x" * size}
    return event_line("ADDED", pod)


def chunked(pieces: list[bytes]) -> bytes:
    """The pieces as HTTP chunks, without the one that ends the body."""
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
