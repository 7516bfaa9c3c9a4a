"""The Kubernetes watch for synchronous Python.

    for event in kwsync.watch_resource("pods", namespace="default"):
        print(event.type, event.key)

`watch_resource` is one request and its stream of events; `WatchThread` calls back from a thread; `Client` has the verbs
of the API. Errors of a watch are events, never exceptions. All of it is synchronous: no asyncio anywhere.

The rooms, from the ground up (each imports only what stands above it here):

    errors, _events           the values: errors, events, the end of a stream
    _resources, _kinds        which resource is meant, and its path; the built-in kinds
    _selectors, _query        selectors, options, the query and the Accept header
    _lines, _json             bytes to lines to documents
    _clock, _threads          the only users of time and of threads
    _cancel                   CancelToken, and the guard that lets any wait be ended
    _cluster, credentials/    where a cluster is, and the ways to prove who you are
    _kubeconfig               both of them from files and from a pod
    _transport/               sockets, TLS, proxies, HTTP: the only user of urllib3, ssl and socket
    _session, _call           a request as a user, and its error answers; a verb under one deadline
    _discovery, _paging       names that only a server knows; lists
    _client                   Client
    _decode                   the bytes of a stream to its events, and what to resume from
    _watch                    watch_resource and WatchStream
    _thread                   WatchThread
    typing                    protocols to annotate with and to write fakes for
    testing/                  an API server in memory, and a server that follows a script, for tests without a cluster
    cli/, __main__            the command line, with the extra kwsync[cli]
"""

from kwsync._cancel import CancelToken
from kwsync._client import Client
from kwsync._cluster import Cluster
from kwsync._events import EndReason, EventType, ObjectKey, WatchEnd, WatchEvent
from kwsync._paging import ObjectList
from kwsync._resources import Resource
from kwsync._thread import WatchThread
from kwsync._version import __version__
from kwsync._watch import WatchStream, watch_resource
from kwsync.errors import CancelledError, ConfigError, ErrorOrigin, ErrorType, KwsyncError, WatchError

__all__ = [
    # Watching
    "CancelToken",
    "WatchStream",
    "WatchThread",
    "watch_resource",
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
