"""What a measurement gives, and how it is shown: a table for people, JSON for programs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple


class Target(NamedTuple):
    """What a figure has to be: at most, or at least, some value."""

    sign: str
    limit: float

    def __str__(self) -> str:
        return f"{self.sign} {self.limit:g}"

    def met_by(self, value: float) -> bool:
        """Does *value* reach it?"""
        return value <= self.limit if self.sign == "<=" else value >= self.limit


def at_most(limit: float) -> Target:
    """A value must not be greater."""
    return Target("<=", limit)


def at_least(limit: float) -> Target:
    """A value must not be smaller."""
    return Target(">=", limit)


@dataclass(frozen=True)
class Figure:
    """One row: a value with its unit, and the target where the design has one."""

    section: str
    name: str
    value: float | None
    """None for what could not be measured; *note* says why."""
    unit: str = ""
    target: Target | None = None
    details: Mapping[str, float] = field(default_factory=dict)
    """Further numbers in the same unit, unless their names say another."""
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Is the target reached? None where there is none, or no value."""
        return None if self.target is None or self.value is None else self.target.met_by(self.value)

    def as_json(self) -> dict[str, Any]:
        """All of it in JSON's types."""
        return {**asdict(self), "target": None if self.target is None else str(self.target), "met": self.met}


@dataclass(frozen=True)
class Settings:
    """How thorough a run is."""

    quick: bool = False

    def pick(self, full: int, quick: int) -> int:
        """A count for a real measurement, or for a run that only shows that everything works."""
        return quick if self.quick else full


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that *percent* of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, largest, and how many there are."""
    return {"p50": statistics.median(values), "max": max(values), "tries": len(values)}


HEADINGS = ("section", "what", "value", "unit", "target", "", "details")


def header(machine: Mapping[str, Any]) -> Iterator[str]:
    """The lines above the table."""
    for name, value in machine.items():
        yield f"{name:12} {value}"
    if machine["load"] > 1:
        yield f"WARNING: the load average is {machine['load']}: the machine is busy, the numbers are worth nothing."


def table(figures: Sequence[Figure]) -> Iterator[str]:
    """The lines of the table, columns aligned."""
    rows = [HEADINGS, *map(_cells, figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS) - 1)]
    for row in rows:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()


def _cells(figure: Figure) -> tuple[str, ...]:
    verdict = {None: "", True: "met", False: "NOT MET"}[figure.met]
    details = [f"{name} {_number(value)}" for name, value in figure.details.items()]
    notes = ", ".join([*details, *([figure.note] if figure.note else [])])
    value = "-" if figure.value is None else _number(figure.value)
    return (figure.section, figure.name, value, figure.unit, str(figure.target or ""), verdict, notes)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"
