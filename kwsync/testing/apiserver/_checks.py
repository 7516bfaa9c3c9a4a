"""What a test tells its server must make sense: TypeError or ValueError with a sentence, where it is said. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from kwsync.testing.apiserver._target import VERBS

Names = str | Iterable[str]

_RESOURCE = re.compile(r"/\S*|[a-z0-9][a-z0-9.-]*(/[a-z]+)?")


def check_whole(name: str, value: object, least: int) -> None:
    """A whole number that is not too small."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")


def as_version(resource_version: object) -> int:
    """A resource version, a str or an int, as a number."""
    text = str(resource_version)
    if not isinstance(resource_version, str | int) or isinstance(resource_version, bool):
        raise TypeError(f"a resource version is a str or an int, not {resource_version!r}")
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"a resource version has digits alone, unlike {resource_version!r}")
    return int(text)


def check_bounds(name: str, number: object, size: object) -> None:
    """Two limits."""
    check_whole(name, number, 0)
    check_whole(f"{name}_bytes", size, 0)


def check_period(name: str, value: object) -> None:
    """A time, which ends, and is one."""
    check_seconds(name, value)
    if not value:
        raise ValueError(f"{name} must be more than 0")


def check_seconds(name: str, value: object) -> None:
    """A time, which ends."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number of seconds, not {value!r}")
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} must not be negative, and must end: not {value}")


def check_text(name: str, value: object) -> None:
    """A text."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {value!r}")


def check_failure(code: object) -> None:
    """A status code of an error."""
    check_whole("code", code, 100)
    if code not in range(400, 600):
        raise ValueError(f"a failure has a code from 400 to 599, not {code}")


def check_verb(verb: object, *more: str) -> None:
    """One of the verbs of requests, or *more*."""
    check_text("verb", verb)
    if verb not in (*VERBS, *more):
        raise ValueError(f"there is no verb {verb!r}; there are {', '.join((*VERBS, *more))}")


def check_patch(patch: object, patch_type: object, known: Collection[object]) -> None:
    """A mapping, or the list of operations of a JSON patch."""
    if patch_type not in known:
        raise ValueError(f"patch_type must be one of {', '.join(map(str, known))}, not {patch_type!r}")
    wanted, words = (Sequence, "a list of operations") if patch_type == "json" else (Mapping, "a mapping")
    if not isinstance(patch, wanted) or isinstance(patch, str | bytes):
        raise TypeError(f"a patch of the type {patch_type} is {words}, not {patch!r}")


def check_resource(resource: str) -> None:
    """The plural of some kind, perhaps of one that is yet to be defined, or a path outside the API."""
    if not _RESOURCE.fullmatch(resource):
        raise ValueError(
            f"resources are plurals, such as 'pods', 'deployments.apps' or 'pods/status', not {resource!r}"
        )


def as_names(name: str, given: object) -> tuple[str, ...]:
    """One name, or several; a text is one, and not its letters."""
    found = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    for each in found:
        check_text(name, each)
        if not each:
            raise ValueError(f"{name} must not be empty")
    return found
