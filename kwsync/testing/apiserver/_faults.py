"""What can go wrong with an answer, as values, and for which requests it does."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass, field

from kwsync.testing._request import Request
from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._checks import check_failure, check_seconds, check_text, check_verb, check_whole
from kwsync.testing.apiserver._options import flag
from kwsync.testing.apiserver._target import parse_target

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_ANYWHERE = ("drop", "reset", "stall", "cut_line", "cut_chunk", "gzip", "answer")
_OF_WATCHES = ("end", "error", "lose", "duplicate")
_WITHOUT_AFTER = ("drop", "reset", "stall", "answer")


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong with one answer; made by the class methods, given to `ApiServer.fail_next`.

    *after* counts the events of a watch that get through before it happens: with 1 or more it is for watches alone.
    With 0 an answer that is no watch is hit in the middle of its body. Without *after*, where that may be None, nothing
    at all is answered. TypeError and ValueError for what makes no sense.
    """

    what: str
    after: int | None = 0
    seconds: float | None = None
    count: int = 1
    error: _status.ApiError | None = None

    def __post_init__(self) -> None:
        if self.what not in (*_ANYWHERE, *_OF_WATCHES):
            raise ValueError(f"there is no fault {self.what!r}; use the class methods")
        if self.after is not None or self.what not in _WITHOUT_AFTER:
            check_whole("after", self.after, 0)
        if self.seconds is not None:
            check_seconds("seconds", self.seconds)
        check_whole("count", self.count, 1)

    @property
    def needs_watch(self) -> bool:
        """Whether it can happen to a watch alone: it waits for one."""
        return self.what in _OF_WATCHES or bool(self.after)

    @classmethod
    def drop(cls, after: int | None = None) -> Fault:
        """The connection is closed (FIN), whatever the body still owes; with TLS without a close_notify."""
        return cls("drop", after)

    @classmethod
    def reset(cls, after: int | None = None) -> Fault:
        """The connection is reset (RST)."""
        return cls("reset", after)

    @classmethod
    def stall(cls, seconds: float | None = None, after: int = 0) -> Fault:
        """Silence behind the head, for *seconds* or for ever; the connection stays open."""
        check_whole("after", after, 0)
        return cls("stall", after, seconds)

    @classmethod
    def late_headers(cls, seconds: float | None = None) -> Fault:
        """Silence before the head, for *seconds* or for ever."""
        return cls("stall", None, seconds)

    @classmethod
    def cut_line(cls, after: int = 0) -> Fault:
        """Half of the next event, and a clean end. An answer that is no watch has half of its JSON."""
        return cls("cut_line", after)

    @classmethod
    def cut_chunk(cls, after: int = 0) -> Fault:
        """The next event's chunk tells its whole length and has half of it; then the connection is closed."""
        return cls("cut_chunk", after)

    @classmethod
    def end(cls, after: int = 0) -> Fault:
        """A watch ends cleanly, as it does at its timeout."""
        return cls("end", after)

    @classmethod
    def answer(
        cls,
        code: int,
        message: str = "made to fail",
        *,
        reason: str | None = None,
        retry_after: int | None = None,
        text: bool = False,
    ) -> Fault:
        """Another answer: a Status (with *text* a plain text) with this code; *retry_after* in whole seconds."""
        return cls("answer", None, error=_error(code, message, reason, retry_after, text))

    @classmethod
    def error_event(
        cls, code: int, message: str = "made to fail", *, reason: str | None = None, after: int = 0
    ) -> Fault:
        """A watch gets an ERROR event with this Status, and ends."""
        return cls("error", after, error=_error(code, message, reason, None, False))

    @classmethod
    def gzip(cls) -> Fault:
        """The body is compressed, whoever asked for it; in a watch each event is a gzip member of its own (A6)."""
        return cls("gzip")

    @classmethod
    def lose_deletion(cls, count: int = 1) -> Fault:
        """A watch is not told of the next *count* deletions."""
        return cls("lose", count=count)

    @classmethod
    def duplicate(cls, after: int = 0) -> Fault:
        """A watch gets its next event twice, and goes on."""
        return cls("duplicate", after)


def _error(code: int, message: str, reason: str | None, retry_after: int | None, text: bool) -> _status.ApiError:
    check_failure(code)
    check_text("message", message)
    if reason is not None:
        check_text("reason", reason)
    if retry_after is not None:
        check_whole("retry_after", retry_after, 0)
    if text:
        return _status.plain(code, message, {} if retry_after is None else {"Retry-After": str(retry_after)})
    details = None if retry_after is None else {"retryAfterSeconds": retry_after}
    return _status.failure(code, _REASONS.get(code, "") if reason is None else reason, message, details)


@dataclass
class FaultRule:
    """For which requests a fault happens. Touched under the server's lock only.

    Args:
        path: a pattern as the shell has them (`/api/v1/*/pods`), or a function of the request; None for any. The
            function runs under the server's lock: it must not wait for anything.
        verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`; None for any.
        every: it happens to each *every*-th of these requests.
        times: how often it happens at most; None for ever.

    A fault that needs a watch is about watches alone: other requests do not use it up. TypeError and ValueError for
    what can never happen.
    """

    fault: Fault
    path: str | Callable[[Request], object] | None = None
    verb: str | None = None
    every: int = 1
    times: int | None = None
    seen: int = field(default=0, init=False)
    """Requests that it was about."""
    hits: int = field(default=0, init=False)
    """How often it has happened."""

    def __post_init__(self) -> None:
        if not isinstance(self.fault, Fault):
            raise TypeError(f"a fault is what a method of Fault gives, such as Fault.reset(), not {self.fault!r}")
        if self.path is not None and not isinstance(self.path, str) and not callable(self.path):
            raise TypeError(f"path must be a pattern or a function of the request, not {self.path!r}")
        check_whole("every", self.every, 1)
        if self.times is not None:
            check_whole("times", self.times, 1)
        if self.verb is not None:
            check_verb(self.verb)
            if self.fault.needs_watch and self.verb != "watch":
                raise ValueError(f"this fault happens to a watch, and never to a {self.verb}")

    def strikes(self, request: Request) -> bool:
        """Count a request; whether it is to fail."""
        if self.times is not None and self.hits >= self.times:
            return False
        if not self._fits(request):
            return False
        self.seen += 1
        strikes = self.seen % self.every == 0
        self.hits += strikes
        return strikes

    def _fits(self, request: Request) -> bool:
        verb = "watch" if self.fault.needs_watch else self.verb
        if verb is not None and verb_of(request) != verb:
            return False
        if self.path is None:
            return True
        if isinstance(self.path, str):
            return fnmatch.fnmatchcase(request.path, self.path)
        return bool(self.path(request))


def verb_of(request: Request) -> str:
    """What a request does to objects; its method in small letters where it is about none."""
    target = parse_target(request.method, request.path)
    if target is None:
        return request.method.lower()
    return target.verb(flag(request.query, "watch") and not target.name)


class Faults:
    """The rules of one server; the first that strikes counts."""

    def __init__(self) -> None:
        self._rules: list[FaultRule] = []

    def add(self, rule: FaultRule) -> FaultRule:
        """One more rule, after the others."""
        self._rules.append(rule)
        return rule

    def clear(self) -> None:
        """No more faults."""
        self._rules.clear()

    def take(self, request: Request) -> Fault | None:
        """What is to go wrong with this request."""
        return next((rule.fault for rule in self._rules if rule.strikes(request)), None)
