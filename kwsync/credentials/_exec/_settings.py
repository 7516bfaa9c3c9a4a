"""What is known of a plugin before it runs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from kwsync import _json

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
"""``v1alpha1`` is gone from Kubernetes 1.24 on."""

NEVER, IF_AVAILABLE, ALWAYS = "Never", "IfAvailable", "Always"
MODES = (NEVER, IF_AVAILABLE, ALWAYS)

_HINT_CHARACTERS = 1000


@attrs.frozen
class Settings:
    """Everything about a plugin; equal ones are the same plugin. Hidden where it may hold a secret."""

    command: str
    arguments: tuple[str, ...] = attrs.field(repr=False)
    environment: tuple[tuple[str, str], ...] = attrs.field(repr=False)
    api_version: str
    interactive_mode: str
    cluster_config: bytes | None = attrs.field(repr=False)
    """JSON."""
    provides_cluster: bool
    install_hint: str
    timeout: float | None
    interval: float

    @property
    def label(self) -> str:
        """What errors call it."""
        return f"the exec plugin {self.command!r}"

    @property
    def advice(self) -> str:
        """How to install it, for the end of an error."""
        return f": {self.install_hint}" if self.install_hint else ""


def check_choice(value: str, choices: tuple[str, ...], what: str) -> str:
    """One of several; ValueError for another."""
    if value not in choices:
        raise ValueError(f"the {what} {value!r} is none of {', '.join(choices)}")
    return value


def as_command(value: str) -> str:
    """A program's name or path."""
    if not isinstance(value, str):
        raise TypeError(f"command must be text, not {type(value).__name__}")
    if not value:
        raise ValueError("an exec plugin needs a command")
    return value


def as_arguments(values: Iterable[str]) -> tuple[str, ...]:
    """Texts; one text is none of them, although it is made of such."""
    found = None if isinstance(values, (str, bytes)) else tuple(values)
    if found is None or not all(isinstance(value, str) for value in found):
        raise TypeError("args must be a list of texts")
    return found


def as_environment(values: object) -> tuple[tuple[str, str], ...]:
    """Names and values of a mapping, in order of the names; None for none."""
    if values is None:
        return ()
    if not isinstance(values, Mapping) or not all(isinstance(text, str) for text in (*values, *values.values())):
        raise TypeError("env must be a mapping of texts")
    return tuple(sorted(values.items()))


def as_json(value: object) -> bytes | None:
    """Any JSON, as it is now; ValueError for what JSON cannot hold."""
    if value is None:
        return None
    try:
        return _json.dumps(value)
    except (TypeError, ValueError):
        pass  # its text may show what is in it
    raise ValueError("the configuration for the exec plugin holds what JSON cannot")


def as_hint(value: str | None) -> str:
    """On one line, as errors are."""
    return " ".join((value or "").split())[:_HINT_CHARACTERS]
