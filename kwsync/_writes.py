"""Writes that controllers need, on the verbs of a `Client`: change an object though others do, and apply a part of one.

A 409 that says Conflict means that somebody else wrote between the read and the write: reading and changing again is
the whole answer to it, and nothing else is tried again here. A lost answer is an error: the write may have been done.
"""

from __future__ import annotations

import copy
import random
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import attrs

from kwsync import _clock
from kwsync._backoff import Backoff
from kwsync._cancel import DeadlinePassed, Gate, Guard, Interrupted, cancelled_by, check_cancel
from kwsync._client import Client
from kwsync._resources import Resource
from kwsync.errors import WatchError, cancelled

T = TypeVar("T")

Object = dict[str, Any]

ATTEMPTS = 5
BACKOFF = Backoff(initial=0.01, factor=1.0, jitter=0.1)
"""client-go's DefaultRetry (B120)."""

_READ_WITH_THE_OBJECT = (None, "status")
"""These subresources are parts of the object itself; any other (``scale``) is an object of another kind."""

_chance = random.SystemRandom()  # which forked children do not share


def retry_on_conflict(
    write: Callable[[], T],
    *,
    attempts: int = ATTEMPTS,
    backoff: Backoff = BACKOFF,
    timeout: float | None = None,
    cancel: threading.Event | None = None,
) -> T:
    """Call *write*, which reads, changes and writes an object, until it does not meet a conflict; what it returns.

    Only a `WatchError` 409 with reason Conflict is tried again, never AlreadyExists. `update` is the short form for one
    object. The defaults are client-go's DefaultRetry; its DefaultBackoff, for where others write all the time, is
    ``attempts=4, backoff=Backoff(initial=0.01, factor=5, jitter=0.1)``.

    Args:
        write: is called on this thread, *attempts* times at the most; it must read anew each time.
        attempts: how often it is called; the conflict of the last call is raised.
        backoff: how long is waited before each further call.
        timeout: seconds after which there is no further call: the last conflict is raised. A call that is running is
            not ended, so give its verbs a timeout, too.
        cancel: ends a wait, and lets no call begin: `CancelledError`. Give it to the verbs in *write*, too.

    Whatever else *write* raises is raised. ValueError and TypeError for options that make no sense.
    """
    return Tries.of(attempts, backoff, timeout, cancel).run(write, is_conflict)


def update(
    client: Client,
    resource: str | Resource,
    name: str,
    namespace: str | None,
    change: Callable[[Object], Mapping[str, Any] | None],
    *,
    subresource: str | None = None,
    attempts: int = ATTEMPTS,
    backoff: Backoff = BACKOFF,
    timeout: float | None = None,
    cancel: threading.Event | None = None,
) -> Object:
    """Get an object, change it, and replace it; get and change it again when somebody else was faster.

        def count(object):
            object["data"]["count"] = str(int(object["data"]["count"]) + 1)

        kwsync.update(client, "configmaps", "visits", "default", count)

    Args:
        client: who reads and writes.
        resource: as for the verbs of `Client`.
        name: of the object.
        namespace: of the object; None for objects that have none.
        change: gets the object, a dict of its own, and changes it in place, or returns another; called on this thread,
            once for each attempt. What it leaves equal is not written. It may not change name and namespace
            (ValueError). What it raises is raised, and nothing is written.
        subresource: ``"status"`` writes the status and not the spec; any other is read and written as an object of its
            own.
        attempts: how often it is tried at the most.
        backoff: how long is waited before each further attempt; see `retry_on_conflict`.
        timeout: seconds for all of it; None: those of the client for each request.
        cancel: ends it in any phase with `CancelledError`.

    The object as stored (as found, when there was nothing to write). `WatchError` as from the verbs: 404 where it is
    not there, 409 when others were faster each time. An answer that is lost is not tried again, since the write may
    have been done.
    """
    tries = Tries.of(attempts, backoff, timeout, cancel)
    read_from = None if subresource in _READ_WITH_THE_OBJECT else subresource

    def write() -> Object:
        found = client.get(resource, name, namespace, subresource=read_from, **tries.options())
        wanted = _changed(found, change)
        if wanted == found:
            return found
        return client.replace(resource, wanted, namespace, subresource=subresource, **tries.options())

    return tries.run(write, is_conflict)


def apply(
    client: Client,
    object: Mapping[str, Any],
    *,
    field_manager: str,
    force: bool = False,
    resource: str | Resource | None = None,
    subresource: str | None = None,
    query: Mapping[str, str] | None = None,
    timeout: float | None = None,
    cancel: threading.Event | None = None,
) -> Object:
    """Server-side apply: these fields shall have these values; the object is made where it is not there.

    Name in *object* what you decide about, beside ``apiVersion``, ``kind``, ``metadata.name`` and ``.namespace``, and
    nothing else: the manager owns what it names, and what it named the last time and does not name now is removed.

    Args:
        client: who writes.
        object: the fields. ``metadata.managedFields`` is left out, which servers refuse here. A ``resourceVersion`` or
            ``uid`` is sent, and then it must be that of the stored object (409): leave them out unless you mean that.
        field_manager: the name under which the fields are owned: one for each controller, and always the same.
        force: take over fields that others own, as controllers should for what they alone decide.
        resource: what the kind is called in paths; None: found by ``apiVersion`` and ``kind``.
        subresource: ``"status"`` for the status alone.
        query: further parameters (``{"dryRun": "All"}``).
        timeout: seconds for the call; None: the client's.
        cancel: ends it with `CancelledError`.

    The object as stored. `WatchError` 409 where another manager owns a field, whose message names both; the causes in
    its status say it field by field (reason ``FieldManagerConflict``). It is not tried again, which would not help.
    ValueError for an object without apiVersion, kind or name.
    """
    metadata = metadata_of(object)
    if not metadata.get("name"):
        raise ValueError("the object has no metadata.name")
    kept = {name: value for name, value in metadata.items() if name != "managedFields"}
    return client.patch(
        resource_of(object) if resource is None else resource,
        metadata["name"],
        {**object, "metadata": kept},
        patch_type="apply",
        field_manager=field_manager,
        force=force,
        subresource=subresource,
        query=query,
        timeout=timeout,
        cancel=cancel,
    )


def is_conflict(error: WatchError) -> bool:
    """Did somebody else write meanwhile? An answer without a reason counts by its code, as for client-go."""
    return error.reason == "Conflict" or (error.status_code == 409 and not error.reason)


def metadata_of(object: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object's metadata; TypeError for what is no object, ValueError for one without."""
    if not isinstance(object, Mapping):
        raise TypeError(f"an object is a mapping, not {type(object).__name__}")
    metadata = object.get("metadata")
    if not isinstance(metadata, Mapping):
        raise ValueError("the object has no metadata")
    return metadata


def resource_of(object: Mapping[str, Any]) -> str:
    """What kind it is, as `Client` takes it for a resource; ValueError where the object does not tell."""
    api_version, kind = object.get("apiVersion"), object.get("kind")
    if not (isinstance(api_version, str) and isinstance(kind, str) and api_version and kind):
        raise ValueError("the object has no apiVersion and kind")
    return f"{api_version}/{kind}"


@attrs.frozen
class Tries:
    """How often something is tried, with what waits, and what ends it before."""

    attempts: int
    backoff: Backoff
    deadline: float | None
    cancel: threading.Event | None

    @classmethod
    def of(cls, attempts: int, backoff: Backoff, timeout: float | None, cancel: threading.Event | None) -> Tries:
        """Checked, from now on."""
        check_cancel(cancel)
        if isinstance(attempts, bool) or not isinstance(attempts, int):
            raise TypeError(f"attempts must be a whole number, not {attempts!r}")
        if not isinstance(backoff, Backoff):
            raise TypeError(f"backoff must be a kwsync.Backoff, not {type(backoff).__name__}")
        if attempts < 1:
            raise ValueError(f"attempts must be 1 or more, not {attempts!r}")
        if timeout is not None and not 0 < timeout < threading.TIMEOUT_MAX:
            raise ValueError(f"timeout must be more than 0 seconds, not {timeout!r}")
        return cls(attempts, backoff, None if timeout is None else _clock.monotonic() + timeout, cancel)

    def options(self) -> dict[str, Any]:
        """What a verb gets: the time that is left, and what cancels it."""
        left = None if self.deadline is None else max(self.deadline - _clock.monotonic(), 0.001)
        return {"timeout": left, "cancel": self.cancel}

    def run(self, attempt: Callable[[], T], again: Callable[[WatchError], bool]) -> T:
        """What *attempt* returns, or raises once it is not worth trying *again*."""
        failures = 0
        while True:
            if self.cancel is not None and self.cancel.is_set():
                raise cancelled()
            try:
                return attempt()
            except WatchError as error:
                failures += 1
                if failures >= self.attempts or not again(error) or not self._wait(failures - 1):
                    raise

    def _wait(self, failures: int) -> bool:
        """False where the time would be over."""
        guard = Guard(self.deadline)
        try:
            with cancelled_by(guard, self.cancel):
                guard.wait(Gate(), self.backoff.delay(failures, _chance.random()))
        except DeadlinePassed:
            return False
        except Interrupted:
            raise cancelled() from None
        return True


def _changed(found: Object, change: Callable[[Object], Mapping[str, Any] | None]) -> Object:
    """What is to be written in place of what was found, and over that version alone."""
    mine = copy.deepcopy(found)
    returned = change(mine)
    if returned is not None and not isinstance(returned, Mapping):
        raise TypeError(f"change must return an object or None, not {type(returned).__name__}")
    wanted = mine if returned is None else dict(returned)
    before, after = metadata_of(found), metadata_of(wanted)
    if any(before.get(name) != after.get(name) for name in ("name", "namespace")):
        raise ValueError("change may not change metadata.name and metadata.namespace")
    if "resourceVersion" in before:
        wanted["metadata"] = {**after, "resourceVersion": before["resourceVersion"]}
    return wanted
