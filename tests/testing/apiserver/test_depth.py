"""Documents that are nested too deeply are refused by whatever reads them, and never stored."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from kwsync.testing import ApiError, ApiServer
from kwsync.testing.apiserver import _bodies
from kwsync.testing.apiserver._decode import MOST_LEVELS
from tests.testing.apiserver.wire import MAPS, WIDGETS, Answer, Http, Open, config_map, definition, widget

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
TOO_DEEP = [MOST_LEVELS + 1, 985, 1000, 1010, 5_000, 100_000]
"""Just too deep, about where the parsers' own limits are, and far beyond them."""
OUTSIDE = 2
"""Levels around `spec.deep` of a widget."""


@pytest.fixture(autouse=True)
def _one_widget(api_server: ApiServer) -> None:
    api_server.create(definition())
    api_server.create(widget())


def brackets(levels: int) -> bytes:
    """A list in a list, of so many levels."""
    return b"[" * levels + b"]" * levels


def deep_widget(levels: int, name: str = "deep") -> bytes:
    """A widget of so many levels."""
    shallow = json.dumps(widget(name, deep=None)).encode()
    return shallow.replace(b"null", brackets(levels - OUTSIDE))


def check_refused(answer: Answer, http: Http, watch: Open) -> None:
    """400 with a Status, and the one widget can still be listed and watched."""
    assert (answer.status, answer.reason) == (400, "BadRequest"), answer.body
    assert "exceeded max depth" in answer.body["message"]
    assert http.get(WIDGETS).names == ["w"]
    assert watch(WIDGETS, timeoutSeconds=5).event()["object"]["metadata"]["name"] == "w"


@pytest.mark.parametrize("levels", TOO_DEEP)
@pytest.mark.parametrize("content_type", ["application/json", "application/yaml"])
def test_post(http: Http, watch: Open, levels: int, content_type: str) -> None:
    """In a new object, also where it comes under the name of YAML."""
    check_refused(http("POST", WIDGETS, deep_widget(levels), Content_Type=content_type), http, watch)


@pytest.mark.parametrize("levels", TOO_DEEP)
def test_put(http: Http, watch: Open, levels: int) -> None:
    """In an object that is written over another."""
    check_refused(http("PUT", f"{WIDGETS}/w", deep_widget(levels, "w")), http, watch)


@pytest.mark.parametrize("levels", TOO_DEEP)
@pytest.mark.parametrize("patch_type", [_bodies.MERGE, _bodies.APPLY, _bodies.JSON_PATCH])
def test_patch(http: Http, watch: Open, levels: int, patch_type: str) -> None:
    """In a patch."""
    body = deep_widget(levels, "w")
    if patch_type == _bodies.JSON_PATCH:
        body = b'[{"op":"add","path":"/x","value":%s}]' % brackets(levels)
    answer = http("PATCH", f"{WIDGETS}/w?fieldManager=m", body, Content_Type=patch_type)
    check_refused(answer, http, watch)


@pytest.mark.parametrize("levels", TOO_DEEP)
def test_strategic_patch(http: Http, levels: int) -> None:
    """In a strategic merge patch, which only built-in kinds take."""
    http("POST", MAPS, config_map())
    answer = http("PATCH", f"{MAPS}/a", b'{"data":%s}' % brackets(levels), Content_Type=_bodies.STRATEGIC)
    assert (answer.status, answer.reason) == (400, "BadRequest")
    assert http.list_maps().names == ["a"]


def test_json_patch_that_nests(http: Http, watch: Open) -> None:
    """What a JSON patch makes of an object may be too deep although no part of the patch is."""
    step = b'{"op":"add","path":"%s/x","value":{"x":{"x":{"x":{"x":{}}}}}}'
    steps = [step % (b"/spec" + b"/x" * 5 * index) for index in range(60)]
    answer = http("PATCH", f"{WIDGETS}/w", b"[%s]" % b",".join(steps), Content_Type=_bodies.JSON_PATCH)
    check_refused(answer, http, watch)


def test_json_patch_that_copies(http: Http, watch: Open) -> None:
    """Nor may it copy a value into itself again and again: what is copied is measured before."""
    deepen = [{"op": "copy", "from": "/spec", "path": "/spec" + "/x" * times} for times in range(1, 300)]
    answer = http("PATCH", f"{WIDGETS}/w", deepen, Content_Type=_bodies.JSON_PATCH)
    assert answer.status in (400, 422)
    assert http.get(WIDGETS).names == ["w"]


@pytest.mark.parametrize("levels", TOO_DEEP)
@pytest.mark.parametrize("path", [f"{WIDGETS}/w", WIDGETS])
def test_delete(http: Http, watch: Open, levels: int, path: str) -> None:
    """In the options of a deletion, which then does not happen."""
    check_refused(http("DELETE", path, b'{"x":%s}' % brackets(levels)), http, watch)


@pytest.mark.parametrize("levels", TOO_DEEP[:-1])
def test_continue_token(http: Http, watch: Open, levels: int) -> None:
    """In the token of a page."""
    token = base64.urlsafe_b64encode(brackets(levels)).decode().rstrip("=")
    check_refused(http.get(WIDGETS, limit=1, **{"continue": token}), http, watch)


@pytest.mark.parametrize(
    "text", ["a: &a [*a]", "a: &a {b: *a}", "- " * 3000 + "x", "[" * 3000 + "]" * 3000, "a: " + "9" * 5000]
)
def test_yaml(http: Http, text: str) -> None:
    """In YAML, where a document may hold itself."""
    pytest.importorskip("yaml")
    assert http("POST", WIDGETS, text.encode(), Content_Type="application/yaml").status == 400
    assert http.get(WIDGETS).names == ["w"]


def test_yaml_that_multiplies(http: Http) -> None:
    """A short text whose aliases would fill the memory is refused, before they do."""
    pytest.importorskip("yaml")
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{index + 1}: &a{index + 1} [{', '.join([f'*a{index}'] * 10)}]" for index in range(12)]
    answer = http("POST", WIDGETS, "\n".join(lines).encode(), Content_Type="application/yaml")
    assert (answer.status, answer.reason) == (400, "BadRequest")
    assert "excessive aliasing" in answer.body["message"]


@pytest.mark.parametrize("levels", TOO_DEEP)
def test_from_python(api_server: ApiServer, levels: int) -> None:
    """In what a test creates, replaces or patches itself: ApiError, as it would be answered."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    writes: list[Callable[[], object]] = [
        lambda: api_server.create(widget("deep", deep=value)),
        lambda: api_server.replace(widget("w", deep=value)),
        lambda: api_server.patch("widgets", "w", {"spec": {"deep": value}}),
    ]
    for write in writes:
        with pytest.raises(ApiError) as caught:
            write()
        assert caught.value.code == 400
    assert [each["metadata"]["name"] for each in api_server.list("widgets")] == ["w"]


def test_endless_from_python(api_server: ApiServer) -> None:
    """The same for what holds itself."""
    endless: dict[str, Any] = {}
    endless["x"] = endless
    with pytest.raises(ApiError):
        api_server.create(widget("deep", deep=endless))


@pytest.mark.parametrize("accept", ["application/json", "application/yaml", TABLE])
def test_deep_enough(http: Http, watch: Open, accept: str) -> None:
    """As deep as is allowed can be stored, and read in every form, with all that surrounds it there."""
    assert http("POST", WIDGETS, deep_widget(MOST_LEVELS)).status == 201
    for query in ({"includeObject": "Object"}, {"includeObject": "Object", "pretty": "true"}):
        for path in (WIDGETS, f"{WIDGETS}/deep"):
            assert http("GET", path, query=query, Accept=accept).status == 200
    if accept != "application/yaml":
        stream = watch(WIDGETS, accept=accept, includeObject="Object", timeoutSeconds=5)
        assert [event["type"] for event in stream.events(2)] == ["ADDED", "ADDED"]
