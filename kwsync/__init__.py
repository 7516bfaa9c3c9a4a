"""The Kubernetes watch for synchronous Python.

    for event in kwsync.watch_resource("pods", namespace="default"):
        print(event.type, event.key)

`watch_resource` is one request and its stream of events; `list_and_watch` follows for ever and loses nothing;
`WatchThread` calls back from a thread; `Informer` keeps the objects as the server has them, and tells handlers what
changes; `Client` has the verbs of the API. Errors of a watch are events, never exceptions. All of it is synchronous: no
asyncio anywhere.

The rooms, from the ground up (each imports only what stands above it here):

    _starting                 Ctrl-C while the command line's modules are loaded
    _micro_time               a moment as the API writes it
    errors, _events           the values: errors, events, the end of a stream
    _resources, _kinds        which resource is meant, and its path; the built-in kinds
    _selectors, _query        selectors, options, the query and the Accept header
    _lines, _json             bytes to lines to documents
    _backoff                  how long to wait before trying again
    _records, _scan           objects as bytes and the few words of metadata that are decided by
    _packing                  records whose bytes are compressed
    _clock, _threads          the only users of time and of threads
    _cancel                   CancelToken, and the guard that lets any wait be ended
    _single                   one thread at a time
    ratelimit                 how long an item of a work queue waits before it is tried again (public)
    _delays, _worklist        what is due later; the rules of a work queue, without time or threads
    _queue                    WorkQueue, which is usable without Kubernetes
    _cluster, credentials/    where a cluster is, and the ways to prove who you are
    _kubeconfig               both of them from files and from a pod
    _transport/               sockets, TLS, proxies, HTTP: the only user of urllib3, ssl and socket
    _official                 both of them from an ApiClient of the official client
    _session, _call           a request as a user, and its error answers; a verb under one deadline
    _discovery, _paging       names that only a server knows; lists
    _client                   Client
    _decode                   the bytes of a stream to its events, and what to resume from
    _stream                   the life of a stream: an iterator that any thread may end
    _watch                    watch_resource and WatchStream
    _resume                   what to do after a list or a watch has ended: the rules, without I/O or time
    _listing, _following      lists as records; lists and watches for ever, step by step
    _ledger, _listwatch       steps to events; list_and_watch and ListWatchStream
    _callbacks, _thread       functions of a user's; WatchThread
    _matching, _indexes       which labels a selector matches; objects by what users want to find them by
    _deliveries, _latch       what a handler has still to be told; waiting for what may never come
    _cache, _store            records by key, swapped in as a whole; Store, their reading side
    _handlers, _hub           a handler with its queue and thread; all of them, and the cache, in one order
    _intake, _keeper          transform and index; what each step means to the cache and the handlers
    _run, _reporter           an informer from a start to its end, and how it is; where errors go
    _informer                 Informer
    _shared                   SharedInformers
    mapping                   which keys an event is about, and which events count (public)
    _outcome                  what becomes of a key, by what reconcile says: Requeue, RetryAfter, TerminalError
    _working, _worker         one run of a controller; a thread that takes one key after another
    _crew                     the workers of a controller through all its runs
    _controller               Controller
    _writes, _finalizers      change an object though others do, apply; what keeps an object from going
    _event_documents, _event_filters, _event_series
                              events as the API has them; what is written of them and when, without time or threads
    _recorder                 EventRecorder
    _election/                LeaderElector: one leader among several processes
    typing                    protocols to annotate with and to write fakes for
    testing/                  an API server in memory, and a server that follows a script, for tests without a cluster
    cli/, __main__            the command line, with the extra kwsync[cli]
"""

import importlib
from typing import TYPE_CHECKING, Any

from kwsync import _starting  # noqa: F401 - before all the others, which take their time

# isort: split
from kwsync._backoff import Backoff
from kwsync._cancel import CancelToken
from kwsync._client import Client
from kwsync._cluster import Cluster
from kwsync._events import EndReason, EventType, ObjectKey, WatchEnd, WatchEvent
from kwsync._listwatch import ListWatchStream, list_and_watch
from kwsync._paging import ObjectList
from kwsync._resources import Resource
from kwsync._thread import WatchThread
from kwsync._version import __version__
from kwsync._watch import WatchStream, watch_resource
from kwsync.errors import CancelledError, ConfigError, ErrorOrigin, ErrorType, KwsyncError, WatchError

if TYPE_CHECKING:
    from kwsync._controller import Controller
    from kwsync._election import ElectionEnd, LeaderElector, Leadership
    from kwsync._finalizers import add_finalizer, has_finalizer, is_deleting, remove_finalizer
    from kwsync._handlers import HandlerRegistration
    from kwsync._informer import Informer
    from kwsync._outcome import Requeue, RetryAfter, TerminalError
    from kwsync._queue import ShutDown, WorkQueue
    from kwsync._recorder import EventRecorder
    from kwsync._run import InformerStatus
    from kwsync._shared import SharedInformers
    from kwsync._store import Store
    from kwsync._worker import ControllerMetrics
    from kwsync._worklist import QueueMetrics
    from kwsync._writes import apply, retry_on_conflict, update

__all__ = [
    # Watching
    "Backoff",
    "CancelToken",
    "ListWatchStream",
    "WatchStream",
    "WatchThread",
    "list_and_watch",
    "watch_resource",
    # Keeping
    "HandlerRegistration",
    "Informer",
    "InformerStatus",
    "SharedInformers",
    "Store",
    # Working
    "Controller",
    "ControllerMetrics",
    "ElectionEnd",
    "LeaderElector",
    "Leadership",
    "QueueMetrics",
    "Requeue",
    "RetryAfter",
    "ShutDown",
    "TerminalError",
    "WorkQueue",
    # Writing
    "EventRecorder",
    "add_finalizer",
    "apply",
    "has_finalizer",
    "is_deleting",
    "remove_finalizer",
    "retry_on_conflict",
    "update",
    # Where, and as whom
    "Client",
    "Cluster",
    "ObjectList",
    "Resource",
    # Values
    "EndReason",
    "EventType",
    "ObjectKey",
    "WatchEnd",
    "WatchEvent",
    # Errors
    "CancelledError",
    "ConfigError",
    "ErrorOrigin",
    "ErrorType",
    "KwsyncError",
    "WatchError",
    # The package
    "__version__",
]

_LATER = {
    "Controller": "_controller",
    "ControllerMetrics": "_worker",
    "ElectionEnd": "_election",
    "EventRecorder": "_recorder",
    "HandlerRegistration": "_handlers",
    "Informer": "_informer",
    "InformerStatus": "_run",
    "LeaderElector": "_election",
    "Leadership": "_election",
    "QueueMetrics": "_worklist",
    "Requeue": "_outcome",
    "RetryAfter": "_outcome",
    "SharedInformers": "_shared",
    "ShutDown": "_queue",
    "Store": "_store",
    "TerminalError": "_outcome",
    "WorkQueue": "_queue",
    "add_finalizer": "_finalizers",
    "apply": "_writes",
    "has_finalizer": "_finalizers",
    "is_deleting": "_finalizers",
    "remove_finalizer": "_finalizers",
    "retry_on_conflict": "_writes",
    "update": "_writes",
}
"""Names of the upper layers, and their rooms: who only watches does not wait for them."""


_ROOMS = ("mapping", "ratelimit", "typing")
"""Public rooms that are there without an import of their own."""


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    room = _LATER.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{room}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_ROOMS})
