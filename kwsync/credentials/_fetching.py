"""What `Cached` decides: when to fetch anew, whose a refused proof was, and what may be told of a failure."""

from __future__ import annotations

import os
import traceback

import attrs

from kwsync import _clock
from kwsync.credentials._protocol import Authorization, CredentialError

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


@attrs.frozen(eq=False)
class Fetch:
    """One that runs since *begun*, on the clock of `_clock.monotonic`."""

    begun: float
    _told: dict[str, object] = attrs.field(factory=dict, init=False)

    @property
    def age(self) -> float:
        """In seconds."""
        return _clock.monotonic() - self.begun

    def may_tell(self) -> bool:
        """True for the first who asks, on whichever thread: setdefault is atomic."""
        mine = object()
        return self._told.setdefault("by", mine) is mine


def is_time_to_renew(left: float, since: float | None, early: float, interval: float) -> bool:
    """Is a proof to be renewed that can be used for *left* seconds, the last fetch being *since* seconds ago? Pure.

    When no more than *early* is left, and as much time has passed since the last fetch as is left, at least the
    *interval*: half of what was left then is over. For that fetch may have failed, or have brought the same proof again
    out of somebody's cache, and one that follows soon is in vain, too.
    """
    return left <= early and (since is None or since >= max(left, interval))


def is_part(authorization: Authorization, whole: Authorization) -> bool:
    """Does *whole*, which may be several proofs in one, hold this one?"""
    same_headers = all(whole.headers.get(name) == value for name, value in authorization.headers.items())
    return same_headers and authorization.certificate in (None, whole.certificate)


def in_words(name: str, error: BaseException) -> str:
    """The text of another exception than ours may hold a secret."""
    if isinstance(error, CredentialError) and has_words(error):
        return str(error)
    return f"{name} failed with {class_and_place(error)}"


def has_words(error: Exception) -> bool:
    """A user's own kind of error may not even be told."""
    try:
        return isinstance(str(error), str)
    except Exception:  # noqa: BLE001 - as above
        return False


def class_and_place(error: BaseException) -> str:
    """Its class, and the line that raised it: its own text may hold a secret, a place in the program does not."""
    places = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    theirs = [place for place in places if not place[0].startswith(_PACKAGE)]
    for file, line in reversed(theirs or places):
        return f"{type(error).__name__} ({os.path.basename(file)}, line {line})"
    return type(error).__name__
