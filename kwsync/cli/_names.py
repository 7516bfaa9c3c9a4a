"""What names on the command line must look like, so that nonsense is told before anything is asked. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kwsync import Resource
from kwsync.cli._errors import CommandError, ExitCode

_LABEL = "[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?"
_DOTTED = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_WITH_VERSION = re.compile(rf"(?:{_DOTTED.pattern}/{_LABEL}|v[1-9][0-9]*(?:(?:alpha|beta)[1-9][0-9]*)?)/{_LABEL}")
_NAMESPACE = re.compile("[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")

TYPES = ("Normal", "Warning")
"""Of Events. Kubernetes has no others."""


def is_namespace(name: str) -> bool:
    """Whether there can be such a namespace (RFC 1123, label)."""
    return _NAMESPACE.fullmatch(name) is not None


def is_text(value: str) -> bool:
    """Whether it can be sent: bytes that are no UTF-8 come from the command line as halves of surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def listed(value: str) -> list[str]:
    """What stands between commas."""
    return [name for name in map(str.strip, value.split(",")) if name]


def kinds_in(values: Iterable[str]) -> list[str]:
    """Kinds of objects, with commas or apart; `CommandError` where there is none, or something else among them."""
    names = [checked_kind(name) for value in values for name in listed(value)]
    if not names:
        raise CommandError("no kind of objects is named: say for example pods, or pods,deployments", ExitCode.USAGE)
    return names


def checked_kind(name: str) -> str:
    """The name, if it can be one of a kind; else `CommandError`."""
    if is_kind(name):
        return name
    kind, _, rest = name.partition("/")
    advice = "say for example pods, deployments.apps or apps/v1/deployments"
    if is_kind(kind) and is_text(rest) and rest.strip("/") and "/" not in rest:
        advice = f"to watch one object, say {kind} --field-selector metadata.name={rest}"
    raise CommandError(f"{name!r} names no kind of objects: {advice}", ExitCode.USAGE)


def is_kind(name: str) -> bool:
    """Whether a server may know it: ``pods``, ``Pod``, ``deployments.v1.apps``, ``apps/v1/deployments``."""
    try:
        Resource.parse(name)
    except ValueError:
        return (_DOTTED.fullmatch(name) or _WITH_VERSION.fullmatch(name)) is not None
    return True


def object_in(about: str) -> tuple[str, str]:
    """The kind and the name in ``pod/web``; `CommandError` where it is no such thing."""
    kind, slash, name = about.rpartition("/")
    if not (slash and name and is_kind(kind)):
        raise CommandError(f"--for takes KIND/NAME, as in pod/web, not {about!r}", ExitCode.USAGE)
    if not is_text(name) or name in (".", "..") or any(sign in name for sign in ",=\\%"):
        raise CommandError(f"{name!r} is no name of an object: check --for", ExitCode.USAGE)
    return kind, name
