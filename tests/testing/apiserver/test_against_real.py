"""The server in memory and a real one are asked the same, and answer the same, but for what is named here."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import ssl
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from kwsync.testing import ApiServer
from tests.controlplane.server import ControlPlane
from tests.testing.apiserver import corpus, mistakes, parts

pytestmark = pytest.mark.slow

LIMIT_SECONDS = 15.0

WORKLOAD = "{metadata:{name:w},spec:{selector:{matchLabels:{a:b}},template:{metadata:{lab..."
DIFFERENCES: dict[str, tuple[str, ...]] = {
    "what a patch makes of an object is not shown where it is none; other texts of Go's decoders are nearly the same": (
        "PATCH configmaps/a merge {kind:Secret}",
        "PATCH configmaps/a merge {metadata:{labels:x}}",
        "PATCH configmaps/a strategic {metadata:{labels:x}}",
        f"PATCH {corpus.LEASES}/l merge {{spec:{{renewTime:x}}}}",
        f"POST {corpus.WIDGETS} {{metadata:{{name:w2}}}}",
    ),
    "nobody owns a field, so that what is no longer applied stays": (
        "PATCH configmaps/ap?fieldManager=m&force=true apply {apiVersion:v1,kind:ConfigMap}",
        "GET configmaps/",
        "GET configmaps?limit=%2B1",
        "DELETE configmaps?limit=1",
    ),
    "a daemon set does not count the changes of its template in an annotation": (
        f"POST {mistakes.APPS}/daemonsets {WORKLOAD}",
    ),
    "a user has no uid": ("POST /apis/authentication.k8s.io/v1/selfsubjectreviews {}",),
    "a definition is served at once, and says so": (
        f"POST {corpus.DEFINITIONS} {{apiVersion:apiextensions.k8s.io/v1,kind:CustomResourceDefinition,metadata:{{n...",
    ),
    "it is another server, with fewer paths and subresources": ("GET /", "GET /api/v1", "GET /version"),
}
"""Requests that are answered otherwise, by the reason."""

SERVED_LATER = (
    "/apis/example.com/v1/widgets",
    "/apis/example.com",
    "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com",
)
"""A real server takes a moment from a definition to these."""


def requests() -> Iterator[tuple[str, corpus.Asked]]:
    """All that both servers are asked."""
    return corpus.requests((*corpus.TOPICS, *mistakes.TOPICS, *parts.TOPICS))


NAMED = [name for names in DIFFERENCES.values() for name in names]


class Answer(NamedTuple):
    """What is compared of an answer."""

    status: int
    media_type: str
    warnings: list[str]
    retry_after: str | None
    body: Any


class Server:
    """One of the two."""

    def __init__(self, address: str, context: ssl.SSLContext, token: str) -> None:
        self._address = address
        self._context = context
        self._token = token

    def answer(self, asked: corpus.Asked) -> Answer:
        """Ask on a connection of its own, since a watch may break off."""
        sent = {
            "Authorization": f"Bearer {self._token}",
            "Accept": asked.accept,
            "Content-Type": asked.content_type,
        }
        connection = http.client.HTTPSConnection(self._address, context=self._context, timeout=LIMIT_SECONDS)
        with contextlib.closing(connection):
            connection.request(asked.method, asked.path, asked.data, sent)
            response = connection.getresponse()
            body = response.read().decode()
        headers = response.headers
        media_type = headers.get_content_type()
        warnings = sorted(headers.get_all("Warning") or [])
        return Answer(response.status, media_type, warnings, headers.get("Retry-After"), decoded(media_type, body))


def decoded(media_type: str, text: str) -> Any:
    """A body without what no two servers have in common: JSON and YAML as what they say, a watch as its events."""
    if media_type == "application/yaml":
        return alike(pytest.importorskip("yaml").safe_load(text))
    if media_type != "application/json":
        return text
    try:
        return alike(json.loads(text))
    except ValueError:
        return [alike(json.loads(line)) for line in text.splitlines()]


ALIKE = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"10\.0\.\d+\.\d+"), "CLUSTER ADDRESS"),
    (re.compile(r"in record \(\d+\)"), "in record (VERSION)"),
)
TIMES = ("creationTimestamp", "deletionTimestamp", "lastTransitionTime", "time")
AGE = re.compile(r"(\d+[smhd])+")


def alike(value: Any, key: str = "") -> Any:
    """Without uids, versions, times, ages, page tokens, addresses, node ports and managedFields."""
    if isinstance(value, dict):
        return {name: alike(inner, name) for name, inner in value.items() if name != "managedFields"}
    if isinstance(value, list):
        return [alike(inner, key) for inner in value]
    if key in (*TIMES, "nodePort", "uid", "continue", "resourceVersion", "storageVersionHash"):
        return bool(value)
    if not isinstance(value, str):
        return value
    if key == "cells" and AGE.fullmatch(value):
        return "AGE"
    for pattern, word in ALIKE:
        value = pattern.sub(word, value)
    return value


@pytest.fixture(scope="module")
def both(control_plane: ControlPlane) -> Iterator[tuple[ControlPlane, Server, Server]]:
    """Two servers with nothing in them: a real one, and one in memory."""
    with ControlPlane(control_plane.binaries) as plane, ApiServer(tls=True) as server:
        assert server.ca is not None
        real = Server(plane.url.partition("//")[2], plane.tls_context(), plane.admin_token)
        token = server.token_for("admin", ["system:masters"])
        yield plane, real, Server(f"127.0.0.1:{server.port}", server.ca.client_context(), token)


@pytest.fixture(scope="module")
def differing(both: tuple[ControlPlane, Server, Server]) -> dict[str, tuple[Answer, Answer]]:
    """The answers that are not the same, by the names of their requests."""
    plane, real, fake = both
    found = {}
    waiting = True
    for name, asked in requests():
        if waiting and asked.path.startswith("/apis/example.com"):
            for path in SERVED_LATER:
                plane.wait_served(path)
            waiting = False
        answers = real.answer(asked), fake.answer(asked)
        if answers[0] != answers[1]:
            found[name] = answers
    return found


def test_corpus() -> None:
    """There are some hundred requests, and each has a name of its own."""
    names = [name for name, _ in requests()]
    assert len(names) >= 300
    assert len(set(names)) == len(names)
    assert set(NAMED) <= set(names)
    assert len(set(NAMED)) == len(NAMED)


@pytest.mark.timeout(240)
def test_no_other_difference(differing: dict[str, tuple[Answer, Answer]]) -> None:
    """Whatever is not named is answered as the real server does."""
    other = {name: answers for name, answers in differing.items() if name not in NAMED}
    shown = [f"{name}\n  real {answers[0]}\n  fake {answers[1]}" for name, answers in other.items()]
    assert not other, "\n".join(shown)


def test_no_difference_is_gone(differing: dict[str, tuple[Answer, Answer]]) -> None:
    """Whatever is named is still different; else it has to go from the list."""
    assert [name for name in NAMED if name not in differing] == []
