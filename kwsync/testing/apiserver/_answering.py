"""One request on its connection: the answer, the fault that is to spoil it, and what to do when this server fails."""

from __future__ import annotations

from collections.abc import Callable

from kwsync.testing._connection import Connection, Over
from kwsync.testing._request import Request
from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._api import Api, Call
from kwsync.testing.apiserver._failure import ApiError
from kwsync.testing.apiserver._faults import Fault
from kwsync.testing.apiserver._faulty_wire import FaultyWire, StreamEnd
from kwsync.testing.apiserver._reply import Reply, error_reply, finished, text_reply, warning_headers
from kwsync.testing.apiserver._router import answer
from kwsync.testing.apiserver._watch import Watch
from kwsync.testing.apiserver._wire import Wire


def answer_request(
    api: Api, request: Request, fault: Fault | None, connection: Connection, failed: Callable[[BaseException], object]
) -> bool:
    """Answer one request; whether another may follow on the connection."""
    wire = Wire(connection, request) if fault is None else FaultyWire(connection, request, fault)
    wire.before()
    # A fault that answers goes before everything: what it replaces must not happen.
    replaced = fault is not None and fault.what == "answer"
    found = Reply(200, b"") if replaced else _find(api, request, wire, failed)
    if isinstance(found, Watch) and request.version == "HTTP/1.0":
        found = text_reply("a watch needs HTTP/1.1\n", 505)
    if isinstance(found, Reply):
        wire.reply(found)
    else:
        _stream(found, wire)
    return not wire.closes


def _find(api: Api, request: Request, wire: Wire, failed: Callable[[BaseException], object]) -> Reply | Watch:
    accept = request.headers.get("Accept", "")
    try:
        found = answer(api, _call(api, request, wire))
    except ApiError as error:
        found = error_reply(error, accept)
    except Over:
        raise
    except Exception as error:  # noqa: BLE001
        # The test must hear of it, and the client must not wait.
        failed(error)
        found = error_reply(_status.internal_error(repr(error)), accept)
    return finished(found, request.query, request.headers) if isinstance(found, Reply) else found


def _call(api: Api, request: Request, wire: Wire) -> Call:
    user = api.access.authenticate(request)
    return Call(request.method, request.path, request.query, request.headers, request.body, user, wire.pause)


def _stream(watch: Watch, wire: Wire) -> None:
    warnings = [watch.kind.deprecation] if watch.kind.deprecation else []
    try:
        watch.run(wire, warning_headers(warnings))
    except StreamEnd:
        pass  # A fault has ended it, and the connection can go on.
