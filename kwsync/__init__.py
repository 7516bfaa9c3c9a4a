"""The Kubernetes watch for synchronous Python."""

from kwsync._cancel import CancelToken
from kwsync._client import Client
from kwsync._cluster import Cluster
from kwsync._events import EndReason, EventType, ObjectKey, WatchEnd, WatchEvent
from kwsync._paging import ObjectList
from kwsync._resources import Resource
from kwsync._version import __version__
from kwsync._watch import WatchStream, watch_resource
from kwsync.errors import CancelledError, ConfigError, ErrorOrigin, ErrorType, KwsyncError, WatchError
