"""An answer that is complete before it is sent; a watch is the other kind, in `_watch`."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kwsync.testing.apiserver._encode import dumps, indented, loads
from kwsync.testing.apiserver._failure import ApiError
from kwsync.testing.apiserver._negotiate import JSON_TYPE, YAML_TYPE, error_type
from kwsync.testing.apiserver._yaml import as_yaml

_GZIP_FROM = 128 * 1024
_PRETTY_AGENTS = ("curl", "Wget", "Mozilla/5.0")


@dataclass(frozen=True)
class Reply:
    """One answer; `headers` has what is beside the usual ones."""

    status: int
    body: bytes
    content_type: str = JSON_TYPE
    headers: tuple[tuple[str, str], ...] = field(default=())

    def adding(self, headers: Iterable[tuple[str, str]]) -> Reply:
        """The same with more headers."""
        return Reply(self.status, self.body, self.content_type, (*self.headers, *headers))


def json_reply(status: int, document: Any) -> Reply:
    """A document as JSON."""
    return Reply(status, dumps(document))


def text_reply(text: str, status: int = 200) -> Reply:
    """Plain text."""
    return Reply(status, text.encode(), "text/plain; charset=utf-8", (("X-Content-Type-Options", "nosniff"),))


def error_reply(error: ApiError, accept: str) -> Reply:
    """A failure, in the type that the client asked for (D16); what cannot be negotiated comes indented, as recorded."""
    if error.status is None:
        headers = dict(error.headers)
        content_type = headers.pop("Content-Type", "text/plain; charset=utf-8")
        return Reply(error.code, error.text.encode(), content_type, tuple(headers.items()))
    body, content_type = dumps(error.status), error_type(accept)
    body = indented(body) if error.code == 406 and content_type == JSON_TYPE else body
    return Reply(error.code, body, content_type, tuple(error.headers.items()))


def warning_headers(warnings: Iterable[str]) -> list[tuple[str, str]]:
    """One header for each warning (A6), in one line whatever it speaks of."""
    shown = ("".join(each if each.isprintable() else repr(each)[1:-1] for each in text) for text in warnings)
    return [("Warning", '299 - "{}"'.format(text.replace("\\", "\\\\").replace('"', '\\"'))) for text in shown]


def finished(reply: Reply, query: Mapping[str, str], headers: Mapping[str, str]) -> Reply:
    """The reply indented for human eyes, or compressed, where that is asked for and is what a real server does (A6)."""
    if reply.content_type == YAML_TYPE:
        return replace(reply, body=as_yaml(loads(reply.body)))
    if reply.content_type != JSON_TYPE or not reply.body:
        return reply
    if _wants_pretty(query, headers):
        reply = Reply(reply.status, indented(reply.body), reply.content_type, reply.headers)
    if len(reply.body) > _GZIP_FROM and "gzip" in headers.get("Accept-Encoding", ""):
        return compressed(reply)
    return reply


def _wants_pretty(query: Mapping[str, str], headers: Mapping[str, str]) -> bool:
    pretty = query.get("pretty")
    if pretty is not None:
        return pretty.lower() not in ("false", "0")
    return headers.get("User-Agent", "").startswith(_PRETTY_AGENTS)


def compressed(reply: Reply) -> Reply:
    """The reply as gzip, unless it is that already, or empty."""
    if not reply.body or any(name == "Content-Encoding" for name, _ in reply.headers):
        return reply
    body = gzip.compress(reply.body, compresslevel=1, mtime=0)
    more = (("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
    return Reply(reply.status, body, reply.content_type, (*reply.headers, *more))
