"""How long to wait before trying again. Pure: chance is given, and time is not known."""

from __future__ import annotations

from typing import Any

import attrs

_MOST_STEPS = 1000
"""Further steps change nothing, and a float holds no power without end."""


def _not_negative(instance: object, attribute: attrs.Attribute[Any], value: float) -> None:
    if not 0 <= value < float("inf"):
        raise ValueError(f"{attribute.name} must be 0 or more and finite, not {value!r}")


def _growing(instance: object, attribute: attrs.Attribute[Any], value: float) -> None:
    if not 1 <= value < float("inf"):
        raise ValueError(f"{attribute.name} must be 1 or more and finite, not {value!r}")


@attrs.frozen(kw_only=True)
class Backoff:
    """Waits that grow with each failure. The defaults are those of client-go's reflector (B022).

    Attributes:
        initial: seconds of the first wait.
        factor: by which each further wait is longer.
        cap: the longest wait in seconds, before chance is added.
        jitter: each wait is up to this many times longer, by chance, so that clients do not come back all at once.
        reset_after: seconds without any failure after which the next one counts as the first (kube-rs' rule: client-go
            counts from its last reset, and so saws back under constant failure; B023).
    """

    initial: float = attrs.field(default=0.8, validator=_not_negative)
    factor: float = attrs.field(default=2.0, validator=_growing)
    cap: float = attrs.field(default=30.0, validator=_not_negative)
    jitter: float = attrs.field(default=1.0, validator=_not_negative)
    reset_after: float = attrs.field(default=120.0, validator=_not_negative)

    def delay(self, failures: int, chance: float) -> float:
        """Seconds to wait after so many *failures* before this one; *chance* is from 0 to 1."""
        try:
            grown = self.initial * self.factor ** min(failures, _MOST_STEPS)
        except OverflowError:
            grown = self.cap
        return min(grown, self.cap) * (1 + self.jitter * chance)
