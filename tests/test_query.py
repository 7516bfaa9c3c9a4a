"""Selectors, options and their query."""

from __future__ import annotations

import urllib.parse
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync._query import ListOptions, WatchOptions, accept, encode, field_selector, label_selector
from tests.recorded import exchange, names


@pytest.mark.parametrize(
    ("value", "selector"),
    [
        ({"app": "web"}, "app=web"),
        ({"app": "web", "tier": "front"}, "app=web,tier=front"),
        ({"app": ["a", "b"]}, "app in (a,b)"),
        ({"app": ("a",)}, "app=a"),
        ({"app": ["", "a"]}, "app in (,a)"),
        ({"app": ""}, "app="),
        ({"app": [""]}, "app="),
        ({"app": None}, "app"),
        ({"app.kubernetes.io/name": "x_Y.z-1"}, "app.kubernetes.io/name=x_Y.z-1"),
        ({}, ""),
        ("app!=web, tier in (a, b),!old", "app!=web, tier in (a, b),!old"),
        ("anything ][ goes", "anything ][ goes"),
    ],
)
def test_label_selector(value: Any, selector: str) -> None:
    """A mapping becomes requirements that all must hold; a string is taken as it is."""
    assert label_selector(value) == selector


@pytest.mark.parametrize("bad", ["a,b", "a=b", "!a", "a in (b)", "a b", "a(", "a)", "a!", "ä", "a\n", "a<1", "a>1"])
def test_label_injection(bad: str) -> None:
    """A key, value or list item that would change the selector's meaning is a ValueError."""
    for value in ({bad: "x"}, {bad: None}, {"x": bad}, {"x": ["a", bad]}):
        with pytest.raises(ValueError, match="change the selector's meaning"):
            label_selector(value)


@pytest.mark.parametrize("value", [{"": "x"}, {"a": []}, {"a": ()}, "\ud800", {"\ud800": None}])
def test_label_values(value: Any) -> None:
    """An empty key, an empty list and what UTF-8 cannot hold are ValueErrors."""
    with pytest.raises(ValueError, match=r"."):
        label_selector(value)


@pytest.mark.parametrize(
    "value", [None, 1, ["a"], {"a": 1}, {"a": True}, {"a": [1]}, {1: "a"}, {"a": {"b"}}, {"a": {}}, {"a": b"x"}, b"a"]
)
def test_label_types(value: Any) -> None:
    """Anything but strings, and lists or tuples of them, is a TypeError."""
    with pytest.raises(TypeError):
        label_selector(value)


@pytest.mark.parametrize(
    ("value", "selector"),
    [
        ({"status.phase": "Running"}, "status.phase=Running"),
        ({"spec.nodeName": "n1", "status.phase": "x"}, "spec.nodeName=n1,status.phase=x"),
        ({"reason": "a=b,c\\d"}, r"reason=a\=b\,c\\d"),
        ({"reason": "=x"}, r"reason=\=x"),
        ({"reason": ""}, "reason="),
        ({"reason": "two words, é"}, "reason=two words\\, é"),
        ({}, ""),
        (r"a=b\,c,d!=e", r"a=b\,c,d!=e"),
    ],
)
def test_field_selector(value: Any, selector: str) -> None:
    r"""A mapping becomes equalities, with \ , = in values escaped by a backslash; a string is taken as it is."""
    assert field_selector(value) == selector


@given(st.dictionaries(st.sampled_from(["metadata.name", "spec.x", "a"]), st.text(st.characters(codec="utf-8"))))
def test_field_round_trip(fields: dict[str, str]) -> None:
    """Reading a field selector as apimachinery does gives the mapping back."""
    assert dict(read_terms(field_selector(fields))) == fields


def read_terms(selector: str) -> list[tuple[str, str]]:
    """The terms of a field selector of equalities, unescaped (fields.ParseSelector in apimachinery)."""
    terms, escaped = [""], False
    for character in selector:
        if character == "," and not escaped:
            terms.append("")
            continue
        terms[-1] += character
        escaped = character == "\\" and not escaped
    pairs = (term.partition("=") for term in terms if term)
    return [(key, unescape(value)) for key, _, value in pairs]


def unescape(value: str) -> str:
    r"""Undo \\, \, and \=; anything else after a backslash, or bare, is an error there."""
    characters = iter(value)
    return "".join(next(characters) if character == "\\" else character for character in characters)


@pytest.mark.parametrize("key", ["", "a=b", "a,b", "a!", "a\\", "a b", "a\n", "a\0"])
def test_field_keys(key: str) -> None:
    """A key that would change the selector's meaning is a ValueError: keys cannot be escaped."""
    with pytest.raises(ValueError, match="change the selector's meaning"):
        field_selector({key: "x"})


@pytest.mark.parametrize("value", [None, 1, ["a"], {"a": None}, {"a": 1}, {"a": ["b"]}, {1: "a"}])
def test_field_types(value: Any) -> None:
    """Fields are compared with one string each: all else is a TypeError."""
    with pytest.raises(TypeError):
        field_selector(value)


def test_watch_default() -> None:
    """An option that is not given is absent from the query."""
    assert WatchOptions().pairs() == [("watch", "true")]


def test_watch_order() -> None:
    """The pairs come in a fixed order, watch=true first."""
    options = WatchOptions(
        max_line_bytes=1,
        send_initial_events=False,
        allow_watch_bookmarks=False,
        timeout_seconds=5,
        resource_version_match="NotOlderThan",
        resource_version="12",
        field_selector={"status.phase": "Running"},
        label_selector={"app": "web"},
        view="table",
        name="a",
        namespace="ns",
    )
    assert options.pairs() == [
        ("watch", "true"),
        ("labelSelector", "app=web"),
        ("fieldSelector", "metadata.name=a,status.phase=Running"),
        ("resourceVersion", "12"),
        ("resourceVersionMatch", "NotOlderThan"),
        ("timeoutSeconds", "5"),
        ("allowWatchBookmarks", "false"),
        ("sendInitialEvents", "false"),
    ]


@pytest.mark.parametrize(
    ("given_options", "match", "bookmarks"),
    [
        ({}, "NotOlderThan", "true"),
        ({"allow_watch_bookmarks": False}, "NotOlderThan", "false"),
        ({"resource_version_match": "NotOlderThan", "allow_watch_bookmarks": True}, "NotOlderThan", "true"),
    ],
)
def test_initial_events(given_options: dict[str, Any], match: str, bookmarks: str) -> None:
    """send_initial_events=True fills in the match and bookmarks, where they are None."""
    pairs = dict(WatchOptions(send_initial_events=True, **given_options).pairs())
    assert pairs["sendInitialEvents"] == "true"
    assert (pairs["resourceVersionMatch"], pairs["allowWatchBookmarks"]) == (match, bookmarks)


def test_filled_in_is_not_kept() -> None:
    """What was filled in is not an option: a copy without initial events is good."""
    options = attrs.evolve(WatchOptions(send_initial_events=True), send_initial_events=None, resource_version="7")
    assert options.pairs() == [("watch", "true"), ("resourceVersion", "7")]


@pytest.mark.parametrize("options", [WatchOptions, ListOptions])
@pytest.mark.parametrize(
    ("given_options", "expected"),
    [
        ({"name": "a"}, "metadata.name=a"),
        ({"name": "a", "field_selector": "spec.x=1"}, "metadata.name=a,spec.x=1"),
        ({"name": "a", "field_selector": ""}, "metadata.name=a"),
        ({"name": "a=b,c"}, r"metadata.name=a\=b\,c"),
        ({"field_selector": {"a": "b"}}, "a=b"),
        ({"field_selector": {}}, None),
    ],
)
def test_name(options: Any, given_options: dict[str, Any], expected: str | None) -> None:
    """One object is asked for by a field selector, since a path with a name is never a watch."""
    assert dict(options(**given_options).pairs()).get("fieldSelector") == expected


@pytest.mark.parametrize("options", [WatchOptions, ListOptions])
def test_empty_is_none(options: Any) -> None:
    """Empty strings count as not given; an empty namespace means all of them, as in client-go."""
    empty = {"namespace": "", "label_selector": "", "resource_version": "", "resource_version_match": ""}
    assert options(**empty) == options()
    assert options(namespace="").namespace is None


COMMON_VALUE_ERRORS: list[dict[str, Any]] = [
    {"name": ""},
    {"name": ".."},
    {"name": "a/b"},
    {"namespace": "."},
    {"namespace": "a%2f"},
    {"label_selector": {"a": "b,c"}},
    {"field_selector": {"a=": "b"}},
    {"field_selector": "\ud800"},
    {"view": "yaml"},
    {"view": ""},
    {"resource_version": "\ud800"},
    {"resource_version_match": "Nearest", "resource_version": "1"},
]
COMMON_TYPE_ERRORS: list[dict[str, Any]] = [
    {"name": 1},
    {"namespace": b"ns"},
    {"namespace": ["a", "b"]},
    {"label_selector": ["a"]},
    {"field_selector": 1},
    {"view": None},
    {"resource_version": 5},
    {"resource_version": True},
    {"resource_version_match": 1},
]


@pytest.mark.parametrize("options", [WatchOptions, ListOptions])
@pytest.mark.parametrize("arguments", COMMON_VALUE_ERRORS, ids=repr)
def test_common_value_errors(options: Any, arguments: dict[str, Any]) -> None:
    """What cannot be meant is a ValueError at once."""
    with pytest.raises(ValueError, match=r"."):
        options(**arguments)


@pytest.mark.parametrize("options", [WatchOptions, ListOptions])
@pytest.mark.parametrize("arguments", COMMON_TYPE_ERRORS, ids=repr)
def test_common_type_errors(options: Any, arguments: dict[str, Any]) -> None:
    """A value of another type is a TypeError at once; a number is no resource version."""
    with pytest.raises(TypeError):
        options(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"timeout_seconds": 0}, "timeout_seconds must be 1 or more"),
        ({"timeout_seconds": -1}, "timeout_seconds must be 1 or more"),
        ({"max_line_bytes": 0}, "max_line_bytes must be 1 or more"),
        ({"resource_version_match": "NotOlderThan", "resource_version": "1"}, "only together with send_initial"),
        ({"resource_version_match": "Exact", "resource_version": "1"}, "no resource_version_match but"),
        ({"resource_version_match": "Exact", "send_initial_events": True}, "no resource_version_match but"),
        ({"resource_version_match": "Exact", "send_initial_events": False}, "no resource_version_match but"),
        ({"send_initial_events": False}, "needs resource_version_match='NotOlderThan'"),
    ],
)
def test_watch_value_errors(arguments: dict[str, Any], message: str) -> None:
    """Combinations that the server refuses for sure are a ValueError that says what to do."""
    with pytest.raises(ValueError, match=message):
        WatchOptions(**arguments)


@pytest.mark.parametrize("name", ["timeout_seconds", "max_line_bytes"])
@pytest.mark.parametrize("value", [True, 1.0, "1"])
def test_integers(name: str, value: Any) -> None:
    """Seconds of a watch are integers for the API: a float or a bool is a TypeError."""
    with pytest.raises(TypeError, match=name):
        WatchOptions(**{name: value})


@pytest.mark.parametrize("name", ["allow_watch_bookmarks", "send_initial_events"])
@pytest.mark.parametrize("value", [1, 0, "true", "maybe"])
def test_booleans(name: str, value: Any) -> None:
    """Only True, False and None: the server takes sendInitialEvents=maybe for true."""
    with pytest.raises(TypeError, match=name):
        WatchOptions(**{name: value})


def test_limit_of_none() -> None:
    """There is no unlimited line."""
    with pytest.raises(TypeError):
        WatchOptions(max_line_bytes=None)  # type: ignore[arg-type]


def test_list_order() -> None:
    """The pairs of a list come in a fixed order."""
    options = ListOptions(
        resource_version_match="Exact", resource_version="12", limit=2, field_selector="a=b", label_selector="c"
    )
    assert options.pairs() == [
        ("labelSelector", "c"),
        ("fieldSelector", "a=b"),
        ("limit", "2"),
        ("resourceVersion", "12"),
        ("resourceVersionMatch", "Exact"),
    ]
    assert ListOptions(limit=1, continue_token="x").pairs() == [("limit", "1"), ("continue", "x")]
    assert ListOptions().pairs() == []


@pytest.mark.parametrize("limit", [0, -1])
def test_limit(limit: int) -> None:
    """A page has at least one object; without a limit there is one page."""
    with pytest.raises(ValueError, match="limit"):
        ListOptions(limit=limit)


@pytest.mark.parametrize("limit", [1.5, True, "1"])
def test_limit_type(limit: Any) -> None:
    """A limit is an integer."""
    with pytest.raises(TypeError, match="limit"):
        ListOptions(limit=limit)


MATRIX = [
    # match, token, version: unset, "0", other
    (None, None, "yes", "yes", "yes"),
    (None, "token", "yes", "yes", "no"),
    ("Exact", None, "no", "no", "yes"),
    ("Exact", "token", "no", "no", "no"),
    ("NotOlderThan", None, "no", "yes", "yes"),
    ("NotOlderThan", "token", "no", "no", "no"),
]


@pytest.mark.parametrize(
    ("match", "token", "version", "good"),
    [
        (match, token, version, good)
        for match, token, *cells in MATRIX
        for version, good in zip((None, "0", "12"), cells, strict=True)
    ],
)
@pytest.mark.parametrize("limit", [None, 2])
def test_list_matrix(match: str, token: str, version: str, good: str, limit: int) -> None:
    """The table of the API concepts page: what the server answers 400 or 422 is a ValueError."""
    arguments: dict[str, Any] = {"resource_version_match": match, "continue_token": token, "limit": limit}
    if good == "yes":
        ListOptions(resource_version=version, **arguments)
    else:
        with pytest.raises(ValueError, match="resource"):
            ListOptions(resource_version=version, **arguments)


OPTION_OF_PARAMETER = {
    "labelSelector": "label_selector",
    "fieldSelector": "field_selector",
    "resourceVersion": "resource_version",
    "resourceVersionMatch": "resource_version_match",
    "limit": "limit",
    "continue": "continue_token",
    "timeoutSeconds": "timeout_seconds",
    "allowWatchBookmarks": "allow_watch_bookmarks",
    "sendInitialEvents": "send_initial_events",
}
TAKES_INTEGER = {"limit", "timeout_seconds"}
TAKES_BOOLEAN = {"allow_watch_bookmarks", "send_initial_events"}
TOLD_APART = {
    # Only the server knows: selectors and tokens are not parsed here, and versions are opaque.
    "list-continue-invalid",
    "list-field-selector-unsupported",
    "list-label-selector-invalid",
    "list-rv-negative",
    "list-rv-unparsable",
    "watch-field-unsupported",
    "watch-label-invalid",
    "watch-rv-unparsable",
    # The match is filled in.
    "watchlist-no-rvm",
    # The server shrugs.
    "list-limit-negative",
    "watch-timeout-negative",
}


def recorded() -> list[tuple[str, Any, dict[str, Any], int]]:
    """The recorded lists and watches that our options can ask for: name, class, arguments, the server's status."""
    found = []
    for name in names("*list-*", "watch*"):
        method, target, status, _ = exchange(name)
        arguments = arguments_of(target)
        if arguments is not None and method == "GET" and name not in TOLD_APART:
            cls = WatchOptions if arguments.pop("watch", False) else ListOptions
            if arguments.keys() <= {field.name for field in attrs.fields(cls)}:
                found.append((name, cls, arguments, status))
    return found


def arguments_of(target: str) -> dict[str, Any] | None:
    """A query as keyword arguments; None where it holds what our options never send."""
    arguments: dict[str, Any] = {}
    for key, value in urllib.parse.parse_qsl(urllib.parse.urlsplit(target).query, keep_blank_values=True):
        if key == "watch":
            arguments["watch"] = value not in ("0", "false")
        elif key not in OPTION_OF_PARAMETER or not add_argument(arguments, OPTION_OF_PARAMETER[key], value):
            return None
    return arguments


def add_argument(arguments: dict[str, Any], name: str, value: str) -> bool:
    """Put one parameter among the arguments, unless it is of a type that our options refuse."""
    if name in TAKES_INTEGER:
        if not value.lstrip("-").isdigit():
            return False
        arguments[name] = int(value)
    elif name in TAKES_BOOLEAN:
        arguments[name] = {"true": True, "1": True, "false": False, "0": False}.get(value)
        return arguments[name] is not None
    else:
        arguments[name] = value
    return True


@pytest.mark.parametrize(("name", "cls", "arguments", "status"), recorded(), ids=lambda value: str(value)[:40])
def test_as_the_server(name: str, cls: Any, arguments: dict[str, Any], status: int) -> None:
    """Of everything a real server was asked, exactly what it refused with 400 or 422 is a ValueError here."""
    if status in (400, 422):
        with pytest.raises(ValueError, match=r"."):
            cls(**arguments)
    else:
        cls(**arguments)


SINGLE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;q=0.9"
SEVERAL = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;q=0.9"


@pytest.mark.parametrize(
    ("view", "verb", "header"),
    [
        ("object", "get", "application/json"),
        ("object", "list", "application/json"),
        ("object", "watch", "application/json"),
        ("metadata", "get", SINGLE),
        ("metadata", "list", SEVERAL),
        ("metadata", "watch", SINGLE),
        ("table", "get", "application/json;as=Table;g=meta.k8s.io;v=v1"),
        ("table", "list", "application/json;as=Table;g=meta.k8s.io;v=v1"),
        ("table", "watch", "application/json;as=Table;g=meta.k8s.io;v=v1"),
    ],
)
def test_accept(view: str, verb: str, header: str) -> None:
    """Each verb has its exact form: the other one is a 406 for a list, and a silent end for a watch."""
    assert accept(view, verb) == header


@pytest.mark.parametrize(("view", "verb"), [("yaml", "get"), ("object", "patch"), ("", ""), ("metadata", "")])
def test_accept_unknown(view: str, verb: str) -> None:
    """Another view or verb is a ValueError."""
    with pytest.raises(ValueError, match="Accept"):
        accept(view, verb)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [("a b", "a%20b"), ("a,b", "a%2Cb"), ("!a", "%21a"), ("a/b", "a%2Fb"), ("a+b", "a%2Bb"), ("é", "%C3%A9")]
    + [("a=b&c", "a%3Db%26c"), ("", ""), ("a~b", "a~b")],
)
def test_encode(value: str, encoded: str) -> None:
    """Everything is percent-encoded; a space is %20, never a plus."""
    assert encode([("watch", "true"), ("labelSelector", value)]) == f"watch=true&labelSelector={encoded}"


@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8"), min_size=1), st.text(st.characters(codec="utf-8")))))
def test_encode_round_trip(pairs: list[tuple[str, str]]) -> None:
    """Any query is read back as it was, and is plain ASCII without spaces."""
    query = encode(pairs)
    assert query.isascii()
    assert query.split() == ([query] if query else [])
    assert urllib.parse.parse_qsl(query, keep_blank_values=True, separator="&") == pairs
