"""What a script is made of."""

from __future__ import annotations

import abc
from collections.abc import Sequence

from kwsync.testing._exchange import Exchange


class Step(abc.ABC):
    """One step of a script. Subclass it for a new kind; `run` is called on the connection's thread."""

    @abc.abstractmethod
    def run(self, exchange: Exchange) -> None:
        """Do it. `Over` may pass through; any other exception is kept in the server's `failures`."""


Steps = Step | Sequence[Step]
"""A script: one step, or several."""


def as_steps(steps: Steps) -> tuple[Step, ...]:
    """One step or several, always as a tuple. Raises TypeError for anything else."""
    found = (steps,) if isinstance(steps, Step) else tuple(steps)
    for step in found:
        if not isinstance(step, Step):
            raise TypeError(f"a script consists of steps, not of {step!r}")
    return found


def run_steps(steps: Steps, exchange: Exchange) -> None:
    """Run a script to its end."""
    for step in as_steps(steps):
        step.run(exchange)
