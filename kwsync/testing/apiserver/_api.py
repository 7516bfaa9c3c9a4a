"""The server without its sockets: the state under its lock, and what it has been told about times and sizes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

from kwsync.testing.apiserver._access import Access, User
from kwsync.testing.apiserver._bounds import Bounds
from kwsync.testing.apiserver._gate import Gate
from kwsync.testing.apiserver._state import State

_VARIANTS = "89ab"
_FIRST_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


@dataclass(frozen=True)
class Settings:
    """Numbers that a real server has, too; all times are in seconds."""

    history: Bounds = Bounds(1000, 64 << 20)  # noqa: RUF009 - it is frozen
    """Changes of each kind that are kept: a watch may start that far back, a list be continued."""
    watch_buffer: Bounds = Bounds(1000, 16 << 20)  # noqa: RUF009 - it is frozen
    """Events that wait for a reader before it counts as too slow."""
    bookmark_interval: float = 60.0
    min_request_timeout: float = 1800.0
    """A watch without timeoutSeconds ends after this time, or anything up to twice as long."""
    too_large_wait: float = 3.0
    """How long a version that has not come yet is waited for (D6)."""
    slow_reader_grace: float = 0.5
    """How long a write waits for the readers whose buffers it has filled, before their watches are ended."""


@dataclass(frozen=True)
class Call:
    """One request, and who makes it."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    user: User = User()  # noqa: RUF009 - it is frozen
    pause: Callable[[float], object] = time.sleep
    """Waits some seconds for the client's sake; raises when it goes away."""

    @property
    def accept(self) -> str:
        """What the client wants to read."""
        return self.headers.get("Accept", "")


class Api:
    """What all threads of one server share; `state` is only touched under `lock`."""

    def __init__(self, settings: Settings, access: Access, now: Callable[[], datetime] | None = None) -> None:
        self.settings = settings
        self.access = access
        self.lock = Gate(settings.slow_reader_grace)
        self.now = now or utc_now
        self.state = State(self.now, _uids(), settings.history)
        self.address = ""
        """Host and port, for discovery."""
        for name in _FIRST_NAMESPACES:
            kind = self.state.catalog.named("namespaces")
            assert kind is not None
            self.state.create(kind, "", {"metadata": {"name": name}})


def utc_now() -> datetime:
    """The time of this machine."""
    return datetime.now(timezone.utc)


def _uids() -> Callable[[], str]:
    """Gives uids at random: as `uuid.uuid4`, which is slow, and gives other threads the processor under the lock."""
    bits = random.Random().getrandbits

    def new() -> str:
        text = f"{bits(128):032x}"
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{_VARIANTS[int(text[16], 16) & 3]}{text[17:20]}-{text[20:]}"

    return new
