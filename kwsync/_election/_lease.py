"""What stands in the Lease of an election: who holds it, since when, for how long; how to write it. Pure.

The lock is a Lease of ``coordination.k8s.io/v1`` and nothing else: the older locks on Endpoints and ConfigMaps are gone
from Kubernetes' own components as well. The fields mean what they mean in client-go's ``leaderelection``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

from kwsync._micro_time import micro_time
from kwsync._resources import Resource

LEASES = Resource("coordination.k8s.io", "v1", "leases", namespaced=True, kind="Lease")

JITTER_FACTOR = 1.2
"""By up to so many retry periods more a candidate waits between two looks (client-go; B151)."""

STOP_SECONDS = 20.0
"""Kubernetes gives a pod 30 s to end, unless it is told otherwise."""

Document = dict[str, Any]


def _labels(value: Mapping[str, str] | None) -> dict[str, str]:
    given = {} if value is None else value
    if not isinstance(given, Mapping):
        raise TypeError(f"labels must be a mapping of strings to strings, not {type(value).__name__}")
    return dict(given)


@attrs.frozen(kw_only=True)
class Rules:
    """What an elector was told; ValueError or TypeError for what makes no sense (B150)."""

    namespace: str = attrs.field()
    name: str = attrs.field()
    identity: str = attrs.field()
    lease_duration: int = attrs.field()
    renew_deadline: float = attrs.field()
    retry_period: float = attrs.field()
    labels: dict[str, str] = attrs.field(default=None, converter=_labels)
    release_on_stop: bool = True
    recampaign: bool = True
    stop_timeout: float = attrs.field(default=STOP_SECONDS)

    @namespace.validator
    @name.validator
    @identity.validator
    def _check_word(self, attribute: attrs.Attribute[str], value: object) -> None:
        if not isinstance(value, str):
            raise TypeError(f"{attribute.name} must be a string, not {type(value).__name__}")
        if not value:
            raise ValueError(f"{attribute.name} must not be empty")

    @lease_duration.validator
    @renew_deadline.validator
    @retry_period.validator
    @stop_timeout.validator
    def _check_seconds(self, attribute: attrs.Attribute[float], value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{attribute.name} must be a number of seconds, not {type(value).__name__}")
        may_be_zero = attribute.name == "stop_timeout"
        if not (0 < value < math.inf or (may_be_zero and value == 0)):
            least = "0 or more" if may_be_zero else "more than 0"
            raise ValueError(f"{attribute.name} must be {least} seconds and finite, not {value!r}")

    def __attrs_post_init__(self) -> None:
        if self.lease_duration != int(self.lease_duration):
            raise ValueError(f"lease_duration must be whole seconds, as the Lease has it, not {self.lease_duration!r}")
        if not self.lease_duration > self.renew_deadline:
            raise ValueError("lease_duration must be longer than renew_deadline, else two would lead at one time")
        if not self.renew_deadline > JITTER_FACTOR * self.retry_period:
            raise ValueError(f"renew_deadline must be longer than {JITTER_FACTOR} times retry_period")

    @property
    def request_timeout(self) -> float:
        """Seconds for one request (B164)."""
        return max(1.0, self.renew_deadline / 2)

    @property
    def stop_after_loss(self) -> float:
        """Seconds that the work may take to end after a loss: until another may lead."""
        return min(self.stop_timeout, self.lease_duration - self.renew_deadline)


@attrs.frozen
class Record:
    """What a Lease says. Two that are equal say that nobody has written in between."""

    holder: str = ""
    """The identity of who holds it; empty: nobody."""
    duration: float | None = None
    """Seconds that it may go without a renewal."""
    transitions: int = 0
    acquired: str = ""
    renewed: str = ""
    """By the holder's clock, which is never compared with another (B153)."""


def record_of(document: Document) -> Record:
    """What a Lease says, which others may have written in their own way."""
    spec = document.get("spec")
    if not isinstance(spec, Mapping):
        return Record()
    duration, transitions = _number(spec.get("leaseDurationSeconds")), _number(spec.get("leaseTransitions"))
    words = [spec.get(name) for name in ("holderIdentity", "acquireTime", "renewTime")]
    holder, acquired, renewed = (word if isinstance(word, str) else "" for word in words)
    return Record(holder, duration, transitions or 0, acquired, renewed)


def held_spec(rules: Rules, micros: int, transitions: int) -> dict[str, Any]:
    """Of somebody who takes the Lease now (B155)."""
    return {
        "holderIdentity": rules.identity,
        "leaseDurationSeconds": int(rules.lease_duration),
        "acquireTime": micro_time(micros),
        "renewTime": micro_time(micros),
        "leaseTransitions": transitions,
    }


def renewed_spec(rules: Rules, micros: int) -> dict[str, Any]:
    """Of somebody who goes on."""
    return {"leaseDurationSeconds": int(rules.lease_duration), "renewTime": micro_time(micros)}


def released_spec(micros: int) -> dict[str, Any]:
    """Of nobody (B160)."""
    now = micro_time(micros)
    return {"holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": now, "renewTime": now}


def new_lease(rules: Rules, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A Lease that is not there yet."""
    metadata = {"name": rules.name, "namespace": rules.namespace}
    return {
        "apiVersion": f"{LEASES.group}/{LEASES.version}",
        "kind": LEASES.kind,
        "metadata": {**metadata, "labels": dict(rules.labels)} if rules.labels else metadata,
        "spec": dict(spec),
    }


def changed_lease(rules: Rules, stored: Document, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The stored one with other words, guarded by its version; what others have written there is kept (B162)."""
    metadata, before = dict(stored["metadata"]), stored.get("spec")
    if rules.labels:
        metadata["labels"] = {**(metadata.get("labels") or {}), **rules.labels}
    return {**stored, "metadata": metadata, "spec": {**(before if isinstance(before, Mapping) else {}), **spec}}


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
