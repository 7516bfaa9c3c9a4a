"""Names of resources and their paths."""

from __future__ import annotations

import json
import pickle
import re
import urllib.parse
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync._kinds import KINDS, Kind, find_kind
from kwsync._resources import Resource, check_segment, parse_or_defer
from tests.recorded import exchange

DEPLOYMENTS = Resource("apps", "v1", "deployments", True, "Deployment")
PODS = Resource("", "v1", "pods", True, "Pod")
NODES = Resource("", "v1", "nodes", False, "Node")


def as_told(resource: Resource | None) -> tuple[Any, ...]:
    """All fields, also those that do not count for equality."""
    assert resource is not None
    return attrs.astuple(resource)


@pytest.mark.parametrize(
    "text",
    ["deployments", "deployment", "Deployment", "DEPLOYMENTS", "deploy", "deployments.apps", "Deployment.apps"]
    + ["deployments.v1.apps", "deploy.v1.apps", "apps/v1/deployments", "apps/v1/Deployment", "Apps/V1/deploy"],
)
def test_forms(text: str) -> None:
    """Plural, singular, kind and short name, in any case, alone or with group and version, mean the same."""
    assert as_told(Resource.parse(text)) == as_told(DEPLOYMENTS)


@pytest.mark.parametrize("text", ["pods", "Pod", "pod", "po", "v1/pods", "v1/Pod", "pods.v1", "pods.v1."])
def test_core(text: str) -> None:
    """The core API has no group: v1/pods, and with a version pods.v1 (or pods.v1. as kubectl writes it)."""
    assert as_told(Resource.parse(text)) == as_told(PODS)


@pytest.mark.parametrize(
    ("text", "api_version"),
    [
        ("events", "v1"),
        ("ev", "v1"),
        ("Event", "v1"),
        ("events.events.k8s.io", "events.k8s.io/v1"),
        ("events.k8s.io/v1/events", "events.k8s.io/v1"),
        ("hpa", "autoscaling/v2"),
        ("hpa.autoscaling", "autoscaling/v2"),
        ("hpa.v1.autoscaling", "autoscaling/v1"),
        ("autoscaling/v1/hpa", "autoscaling/v1"),
    ],
)
def test_preferred(text: str, api_version: str) -> None:
    """A kind of several groups or versions is taken from the preferred one, unless the name tells which."""
    assert Resource.parse(text).api_version == api_version


@pytest.mark.parametrize("text", ["crontabs.v1.stable.example.com", "stable.example.com/v1/crontabs"])
def test_custom(text: str) -> None:
    """With group and version, a name that is not built in is taken for the plural; scope and kind are unknown."""
    assert as_told(Resource.parse(text)) == ("stable.example.com", "v1", "crontabs", None, None)


@pytest.mark.parametrize("version", ["v2beta1", "v1alpha12", "v10"])
def test_versions(version: str) -> None:
    """A version in the dotted form looks like v1 or v2beta1; other labels belong to a group."""
    assert Resource.parse(f"crontabs.{version}.example.com").version == version


def test_odd_version() -> None:
    """A definition may call its version anything; the form with slashes takes it."""
    assert Resource.parse("example.com/stable/crontabs") == Resource("example.com", "stable", "crontabs")
    assert parse_or_defer("crontabs.stable.example.com") is None


def test_unknown_version_of_known_kind() -> None:
    """What the table knows of one version is not told of another."""
    resource = Resource.parse("apps/v1beta1/deployments")
    assert as_told(resource) == ("apps", "v1beta1", "deployments", None, None)


@pytest.mark.parametrize(
    "text",
    [
        "crontabs",
        "CronTab",
        "crontabs.stable.example.com",
        "CronTab.v1.stable.example.com",
        "crontabs.V1.stable.example.com",
        "stable.example.com/v1/CronTab",
        "foos.apps",
        "pods.metrics.k8s.io",
        "pods.v0",
    ],
)
def test_deferred(text: str) -> None:
    """What only a server knows is None inside; to a user it is a ValueError that names the way out."""
    assert parse_or_defer(text) is None
    with pytest.raises(ValueError, match=re.escape(f"client.discover({text!r})")):
        Resource.parse(text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "pods ", " pods", "po ds", "pods\n", "/", "v1/", "/pods", "/v1/pods", "apps/v1/", "apps//deployments"]
    + ["pods/log", "apps/deployments", "a/b/c/d", "api/v1/pods/x", ".", "..", "pods.", ".pods", "pods..v1", "pods.v1.."]
    + ["pods%2Flog", "-pods", "pods-", "pods_x", "pöds", "pods.v1.apps.", "apps/v1/de.ployments", "v1/..", "*"],
)
def test_malformed(text: str) -> None:
    """A text that names no resource, whatever the server, is a ValueError and never reaches discovery."""
    with pytest.raises(ValueError, match="names no resource"):
        parse_or_defer(text)
    with pytest.raises(ValueError, match="names no resource"):
        Resource.parse(text)


@pytest.mark.parametrize("value", [None, 1, b"pods", PODS])
def test_no_text(value: Any) -> None:
    """Anything but a string is a TypeError."""
    with pytest.raises(TypeError):
        parse_or_defer(value)


@given(st.text())
def test_any_text(text: str) -> None:
    """Any text gives a resource, None or a ValueError, and what it gives has a path."""
    try:
        resource = parse_or_defer(text)
    except ValueError:
        return
    if resource is not None:
        assert resource.path().startswith("/api")


labels = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)


@given(st.lists(labels, max_size=3), st.sampled_from(["v1", "v2beta1"]), labels)
def test_round_trip(group: list[str], version: str, plural: str) -> None:
    """str() and the form with slashes of any resource are read back as the same."""
    resource = Resource(".".join(group), version, plural)
    known = find_kind(plural, resource.group, version)
    expected = Resource(resource.group, version, known.plural) if known else resource
    assert Resource.parse(str(resource)) == expected
    assert Resource.parse(f"{resource.api_version}/{plural}") == expected


def test_equality() -> None:
    """What is known beside group, version and plural does not make another resource."""
    assert Resource("", "v1", "pods") == PODS
    assert hash(Resource("", "v1", "pods")) == hash(PODS)
    assert Resource("", "v1", "pods") != Resource("apps", "v1", "pods")


def test_values() -> None:
    """A resource is frozen, and can be pickled whole."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        PODS.plural = "nodes"  # type: ignore[misc]
    assert as_told(pickle.loads(pickle.dumps(PODS))) == as_told(PODS)


def test_texts() -> None:
    """str() is kubectl's dotted form; api_version is as in an object."""
    assert (str(PODS), PODS.api_version) == ("pods.v1", "v1")
    assert (str(DEPLOYMENTS), DEPLOYMENTS.api_version) == ("deployments.v1.apps", "apps/v1")


@pytest.mark.parametrize(
    "fields",
    [("", "", "pods"), ("", "v1", ""), ("", "v1", "pods/log"), ("a/b", "v1", "pods"), ("", "..", "pods")]
    + [("..", "v1", "pods"), ("", "v1", "po%64s"), ("", "v1", "pods\n")],
)
def test_bad_fields(fields: tuple[str, str, str]) -> None:
    """Parts that cannot stand in a path are a ValueError."""
    with pytest.raises(ValueError, match="cannot be part of a path"):
        Resource(*fields)


@pytest.mark.parametrize(
    "fields",
    [(None, "v1", "pods"), ("", 1, "pods"), ("", "v1", None), ("", "v1", "pods", "yes"), ("", "v1", "pods", True, 1)],
)
def test_wrong_types(fields: Any) -> None:
    """Parts of another type are a TypeError."""
    with pytest.raises(TypeError):
        Resource(*fields)


@pytest.mark.parametrize(
    ("resource", "arguments", "path"),
    [
        (PODS, {}, "/api/v1/pods"),
        (PODS, {"namespace": "ns"}, "/api/v1/namespaces/ns/pods"),
        (PODS, {"namespace": "ns", "name": "a"}, "/api/v1/namespaces/ns/pods/a"),
        (PODS, {"namespace": "ns", "name": "a", "subresource": "log"}, "/api/v1/namespaces/ns/pods/a/log"),
        (DEPLOYMENTS, {}, "/apis/apps/v1/deployments"),
        (DEPLOYMENTS, {"namespace": "ns", "name": "a"}, "/apis/apps/v1/namespaces/ns/deployments/a"),
        (NODES, {"name": "n1"}, "/api/v1/nodes/n1"),
        (Resource("", "v1", "things"), {"name": "unknown-scope"}, "/api/v1/things/unknown-scope"),
    ],
)
def test_paths(resource: Resource, arguments: dict[str, str], path: str) -> None:
    """Core kinds live below /api, others below /apis/GROUP."""
    assert resource.path(**arguments) == path


def test_path_encoding() -> None:
    """Every segment is percent-encoded as UTF-8, also what a path could hold bare."""
    assert PODS.path("my ns", "é:@?#&+") == "/api/v1/namespaces/my%20ns/pods/%C3%A9%3A%40%3F%23%26%2B"


@pytest.mark.parametrize("value", ["", ".", "..", "a/b", "../x", "a%2fb", "%", "a\nb", "a\0", "\x7f", "\ud800"])
@pytest.mark.parametrize("argument", ["namespace", "name", "subresource"])
def test_bad_segments(argument: str, value: str) -> None:
    """What Kubernetes takes for no path segment, and what no name can hold, is a ValueError."""
    arguments = {"namespace": "ns", "name": "a", argument: value}
    with pytest.raises(ValueError, match="cannot be part of a path"):
        PODS.path(**arguments)


@pytest.mark.parametrize("value", [1, b"a", ["a"], True])
def test_segment_types(value: object) -> None:
    """A segment that is no string is a TypeError."""
    with pytest.raises(TypeError):
        check_segment(value, "name")


@given(st.text(min_size=1))
def test_segment_cannot_escape(name: str) -> None:
    """Whatever a name is, it is refused or stays one segment that decodes to itself."""
    try:
        path = PODS.path("ns", name)
    except ValueError:
        return
    prefix = "/api/v1/namespaces/ns/pods/"
    assert path.startswith(prefix)
    assert "/" not in path[len(prefix) :]
    assert urllib.parse.unquote(path[len(prefix) :]) == name


def test_scope() -> None:
    """A path that the server does not have is refused where the scope is known, and only there."""
    with pytest.raises(ValueError, match="not namespaced"):
        NODES.path("ns")
    with pytest.raises(ValueError, match="needs a namespace"):
        PODS.path(name="a")
    assert Resource("", "v1", "nodes").path("ns") == "/api/v1/namespaces/ns/nodes"


def test_subresource_needs_name() -> None:
    """A collection has no subresources."""
    with pytest.raises(ValueError, match="one object"):
        PODS.path("ns", subresource="status")


def discovered() -> list[Kind]:
    """The kinds in the recorded aggregated discovery of a real server."""
    found = []
    for name in ("discovery-aggregated-api", "discovery-aggregated-apis"):
        for group in json.loads(exchange(name).body)["items"]:
            for version in group["versions"]:
                names = group["metadata"].get("name", ""), version["version"]
                found += [row_of(*names, resource) for resource in version["resources"]]
    return found


def row_of(group: str, version: str, told: dict[str, Any]) -> Kind:
    """One resource of a discovery answer, as a row of the table."""
    kind = told["responseKind"]["kind"]
    assert told["singularResource"] == kind.lower()
    short_names = tuple(told.get("shortNames", []))
    return Kind(group, version, told["resource"], kind, told["scope"] == "Namespaced", short_names)


def test_table_is_discovery() -> None:
    """The table is what a kube-apiserver 1.36 serves, no more and no less."""
    assert sorted(KINDS) == sorted(discovered())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.plural}.{kind.version}.{kind.group}")
def test_table_names(kind: Kind) -> None:
    """Every kind of the table is found by its plural, singular and short names, with and without its version."""
    expected = (kind.group, kind.version, kind.plural, kind.namespaced, kind.name)
    for name in (kind.plural, kind.name, kind.name.lower(), *kind.short_names):
        told = f"{name}.{kind.version}.{kind.group}".rstrip(".")
        assert as_told(Resource.parse(told)) == expected
        first = find_kind(name, kind.group)
        assert first is not None
        assert first.plural == kind.plural


def test_names_are_unambiguous() -> None:
    """A bare name means one plural; only the group or version may differ."""
    plurals: dict[str, str] = {}
    for kind in KINDS:
        for name in (kind.plural, kind.name.lower(), *kind.short_names):
            assert plurals.setdefault(name, kind.plural) == kind.plural
