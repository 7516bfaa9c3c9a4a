"""What a delete asks for, in its body or its query. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._failure import Cause
from kwsync.testing.apiserver._go_types import type_error
from kwsync.testing.apiserver._metadata_rules import invalid
from kwsync.testing.apiserver._numbers import parse_integer
from kwsync.testing.apiserver._options import flag
from kwsync.testing.apiserver._schemas_meta import DELETE_OPTIONS
from kwsync.testing.apiserver._state import Deletion

_POLICIES = ("Background", "Foreground", "Orphan")


def deletion(body: Mapping[str, Any], query: Mapping[str, str]) -> Deletion:
    """Read the DeleteOptions, of which a body goes before the query. Every propagation is taken for Background: nothing
    here collects garbage."""
    _check_type(body)
    options = body or _from_query(query)
    causes = [*dry_run_causes(options.get("dryRun") or ()), *_policy_causes(options)]
    if causes:
        raise _status.invalid_options(causes, "DeleteOptions")
    preconditions = options.get("preconditions") or {}
    return Deletion(
        grace=options.get("gracePeriodSeconds"),
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        dry_run=bool(options.get("dryRun")),
    )


def _check_type(body: Mapping[str, Any]) -> None:
    kind, version = body.get("kind"), body.get("apiVersion")
    for name, value in (("kind", kind), ("apiVersion", version)):
        if error := type_error(DELETE_OPTIONS.fields[name], value, name):
            raise _status.bad_request(f"couldn't get version/kind; json parse error: {error}")
    if (kind or "DeleteOptions") != "DeleteOptions":
        raise _status.bad_request(
            f'no kind "{kind}" is registered for version "{version or ""}" in scheme "pkg/runtime/scheme.go:111"'
        )
    if error := type_error(DELETE_OPTIONS, body):
        raise _status.bad_request(error)


def _from_query(query: Mapping[str, str]) -> dict[str, Any]:
    readers: dict[str, Callable[[str], Any]] = {
        "gracePeriodSeconds": parse_integer,
        "propagationPolicy": str,
        "orphanDependents": lambda _: flag(query, "orphanDependents"),
        "dryRun": lambda value: [value],
    }
    return {name: read(query[name]) for name, read in readers.items() if name in query}


def _policy_causes(options: Mapping[str, Any]) -> Iterator[Cause]:
    policy = options.get("propagationPolicy")
    if policy is None:
        return
    if options.get("orphanDependents") is not None:
        yield invalid("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set")
    if policy not in _POLICIES:
        yield not_supported("propagationPolicy", policy, '"Foreground", "Background", "Orphan", "nil"')


def dry_run_causes(values: Sequence[str]) -> Iterator[Cause]:
    """What is wrong with the values of `dryRun`, of any write: all of them must be `All`."""
    if any(value != "All" for value in values):
        listed = ", ".join(f'"{value}"' for value in values)
        yield Cause("FieldValueNotSupported", "dryRun", f'Unsupported value: [{listed}]: supported values: "All"')


def not_supported(field: str, value: str, values: str) -> Cause:
    """A word that is none of some."""
    return Cause("FieldValueNotSupported", field, f'Unsupported value: "{value}": supported values: {values}')
