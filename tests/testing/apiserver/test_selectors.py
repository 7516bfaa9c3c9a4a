"""Selectors as the server reads them: what they match, and its words for what it cannot read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync.testing.apiserver._fields import check_fields, custom_field_labels, field_labels, fields_of
from kwsync.testing.apiserver._selectors import FieldSelector, LabelSelector, SelectorError
from tests.testing.apiserver import recorded
from tests.values import json_objects

LABELS = {"app": "web", "tier": "", "n": "5", "example.com/x": "y", "in": "notin"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        (" , " and " ", True),
        ("app=web", True),
        ("app==web", True),
        (" app = web , n ", True),
        ("app=db", False),
        ("absent=x", False),
        ("app!=web", False),
        ("app!=db", True),
        ("absent!=x", True),
        ("app in (db, web)", True),
        ("app in (db)", False),
        ("absent in (x)", False),
        ("app notin (db)", True),
        ("app notin (web)", False),
        ("absent notin (x)", True),
        ("app", True),
        ("absent", False),
        ("!absent", True),
        ("!app", False),
        ("! app", False),
        ("n>4", True),
        ("n>5", False),
        ("n<6", True),
        ("absent>1", False),
        ("app>1", False),
        ("tier=", True),
        ("tier", True),
        ("tier=,app", True),
        ("tier in ()", True),
        ("tier in (,)", True),
        ("app in (,web)", True),
        ("app in (web,)", True),
        ("in in (in,notin)", True),
        ("in=notin", True),
        ("example.com/x=y", True),
    ],
)
def test_label_selectors(text: str, matches: bool) -> None:
    """The grammar of apimachinery's labels.Parse."""
    assert LabelSelector.parse(text).matches(LABELS) is matches


def test_an_object_without_labels_has_none() -> None:
    """`metadata.labels` may be missing."""
    assert LabelSelector.parse("!a").matches(None)
    assert not LabelSelector.parse("a").matches(None)


KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("-a=b", f'unable to parse requirement: <nil>: Invalid value: "-a": {KEY}'),
        ("/a", 'unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty'),
        (
            "a>b",
            (
                'unable to parse requirement: values[0]: Invalid value: "b": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            ),
        ),
        (
            "a=" + "b" * 64,
            f'unable to parse requirement: values[0][a]: Invalid value: "{"b" * 64}": must be no more than 63 bytes',
        ),
    ],
)
def test_label_selectors_that_cannot_be_read(text: str, message: str) -> None:
    """In the words of labels.Parse, which become the message of the 400."""
    with pytest.raises(SelectorError) as caught:
        LabelSelector.parse(text)
    assert str(caught.value) == message


def test_the_recorded_label_selector_error() -> None:
    """One of them was seen."""
    with pytest.raises(SelectorError) as caught:
        LabelSelector.parse("a===b")
    assert str(caught.value) == recorded.body("list-label-selector-invalid")["message"]


@given(st.text("abin!=()<>, \t-./\\0\0é", max_size=12) | st.text(max_size=8))
def test_reading_a_label_selector_ends_in_a_selector_or_its_error(text: str) -> None:
    """Whatever the query says; and then it can be asked."""
    try:
        selector = LabelSelector.parse(text)
    except SelectorError:
        return
    selector.matches({"a": "b"})


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.text("xyz", max_size=3), max_size=4))
def test_labels_match_the_selector_made_of_them(labels: dict[str, str]) -> None:
    """And stop to when one of them is excluded."""
    text = ",".join(f"{key}={value}" for key, value in labels.items())
    assert LabelSelector.parse(text).matches(labels)
    for key, value in labels.items():
        assert not LabelSelector.parse(f"{key}!={value}").matches(labels)
        assert not LabelSelector.parse(f"!{key}").matches(labels)


# Fields.


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("metadata.name=a", True),
        ("metadata.name==a", True),
        ("metadata.name!=a", False),
        ("metadata.name=b", False),
        ("metadata.name=a,status.phase=Running", True),
        ("metadata.name=a,status.phase!=Running", False),
        ("status.phase=", False),
        ("absent=", True),
        ("=,!=", True),
        ("absent!=x", True),
        (",,metadata.name=a,", True),
        (r"odd=x\,y\=z\\", True),
    ],
)
def test_field_selectors(text: str, matches: bool) -> None:
    """The grammar of apimachinery's fields.ParseSelector; a field that is absent is empty."""
    fields = {"metadata.name": "a", "status.phase": "Running", "odd": "x,y=z\\"}
    assert FieldSelector.parse(text).matches(fields) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("a in (b)", "invalid selector: 'a in (b)'; can't understand 'a in (b)'"),
        ("b=1,a", "invalid selector: 'b=1,a'; can't understand 'a'"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_field_selectors_that_cannot_be_read(text: str, message: str) -> None:
    """In the words of fields.ParseSelector, which has no `in`."""
    with pytest.raises(SelectorError) as caught:
        FieldSelector.parse(text)
    assert str(caught.value) == message


@given(st.text("ab=!,\\ ", max_size=12) | st.text(max_size=8))
def test_reading_a_field_selector_ends_in_a_selector_or_its_error(text: str) -> None:
    """Whatever the query says."""
    try:
        selector = FieldSelector.parse(text)
    except SelectorError:
        return
    selector.matches({})


@given(st.text(max_size=10))
def test_any_value_can_be_selected_with_escapes(value: str) -> None:
    """A backslash before backslash, comma and equals sign."""
    escaped = value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
    selector = FieldSelector.parse(f"a={escaped}")
    assert selector.exact("a") == value
    assert selector.matches({"a": value})


def test_the_exact_value_of_a_field() -> None:
    """What makes `metadata.name=x` the name in authorisation; an exclusion does not."""
    assert FieldSelector.parse("metadata.name=x,a!=b").exact("metadata.name") == "x"
    assert FieldSelector.parse("metadata.name!=x").exact("metadata.name") is None


@pytest.mark.parametrize(
    ("name", "group", "kind"),
    [
        ("list-field-selector-unsupported", "", "ConfigMap"),
        ("events-field-unsupported", "", "Event"),
        ("events-field-new-api-old-name", "events.k8s.io", "Event"),
    ],
)
def test_fields_that_are_not_supported(name: str, group: str, kind: str) -> None:
    """A kind without fields of its own speaks differently from the others."""
    with pytest.raises(SelectorError) as caught:
        check_fields(FieldSelector.parse(selector_of(name)), field_labels(group, "v1", kind))
    assert str(caught.value) == recorded.body(name)["message"]


@pytest.mark.parametrize(
    ("name", "namespaced"), [("crd-field-selector-400", True), ("crd-cluster-namespace-selector", False)]
)
def test_fields_that_a_custom_kind_does_not_support(name: str, namespaced: bool) -> None:
    """A cluster-scoped one has no metadata.namespace."""
    with pytest.raises(SelectorError) as caught:
        check_fields(FieldSelector.parse(selector_of(name)), custom_field_labels(namespaced), custom=True)
    assert str(caught.value) == recorded.body(name)["message"]


def selector_of(name: str) -> str:
    """The fieldSelector of a recorded request."""
    return (
        recorded.transcript(name).request_line.split("fieldSelector=")[1].split("&")[0].split()[0].replace("%3D", "=")
    )


@pytest.mark.parametrize(
    ("group", "kind", "fields"),
    [
        ("", "Pod", "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork"),
        ("", "Pod", "status.phase status.podIP status.podIPs status.nominatedNodeName metadata.namespace"),
        ("", "Event", "involvedObject.kind involvedObject.uid involvedObject.fieldPath reason source type"),
        ("events.k8s.io", "Event", "regarding.kind regarding.name reason reportingController type"),
        ("", "Secret", "type metadata.name metadata.namespace"),
        ("", "Namespace", "status.phase metadata.name"),
        ("", "Node", "spec.unschedulable metadata.name"),
        ("", "Service", "spec.type spec.clusterIP"),
        ("", "ReplicationController", "status.replicas"),
        ("batch", "Job", "status.successful"),
        ("certificates.k8s.io", "CertificateSigningRequest", "spec.signerName"),
    ],
)
def test_fields_that_are_supported(group: str, kind: str, fields: str) -> None:
    """The AddFieldLabelConversionFunc of each kind in Kubernetes 1.36."""
    assert set(fields.split()) <= field_labels(group, "v1", kind)


def test_kinds_without_fields_of_their_own() -> None:
    """ReplicaSets are such a kind, whatever the older documents say (real-server.md, D12)."""
    assert field_labels("apps", "v1", "ReplicaSet") == {"metadata.name", "metadata.namespace"}
    assert "metadata.namespace" not in field_labels("", "v1", "Node")
    assert custom_field_labels(True, [".spec.color"]) == {"metadata.name", "metadata.namespace", "spec.color"}


def test_fields_of_a_pod() -> None:
    """With the defaults that the server has for some."""
    pod = {
        "metadata": {"name": "a", "namespace": "d"},
        "spec": {"nodeName": "n", "hostNetwork": True},
        "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}]},
    }
    fields = fields_of("", "Pod", pod)
    assert fields.keys() == field_labels("", "v1", "Pod")
    assert (fields["metadata.name"], fields["spec.nodeName"], fields["status.podIP"]) == ("a", "n", "10.0.0.1")
    assert (fields["spec.hostNetwork"], fields_of("", "Pod", {})["spec.hostNetwork"]) == ("true", "false")


def test_fields_of_an_event_under_the_names_of_both_apis() -> None:
    """Whichever API it came through."""
    core = {"involvedObject": {"kind": "Pod", "name": "p"}, "reason": "R", "source": {"component": "c"}}
    new = {"regarding": {"kind": "Pod", "name": "p"}, "reason": "R", "deprecatedSource": {"component": "c"}}
    for event in (core, new):
        assert fields_of("", "Event", event)["involvedObject.name"] == "p"
        assert fields_of("events.k8s.io", "Event", event)["regarding.name"] == "p"
        assert fields_of("", "Event", event)["source"] == "c"


def test_numbers_and_flags_have_a_value_where_they_are_absent() -> None:
    """Go's zero values."""
    assert fields_of("batch", "Job", {"status": {"succeeded": 2}})["status.successful"] == "2"
    assert fields_of("batch", "Job", {})["status.successful"] == "0"
    assert fields_of("", "Node", {})["spec.unschedulable"] == "false"
    assert fields_of("", "ReplicationController", {})["status.replicas"] == "0"


def test_selectable_fields_of_a_custom_kind() -> None:
    """Strings, booleans and integers as texts; what is absent is empty (recorded: crd-list-selectable-empty)."""
    custom = {"spec": {"color": "red", "on": True, "size": 3}}
    fields = fields_of("example.com", "Widget", custom, [".spec.color", ".spec.on", ".spec.size", ".spec.none"])
    assert [fields[f"spec.{name}"] for name in ("color", "on", "size", "none")] == ["red", "true", "3", ""]


@given(json_objects)
def test_any_object_has_fields(document: dict[str, object]) -> None:
    """Texts, for every kind."""
    for group, kind in (("", "Pod"), ("", "Event"), ("batch", "Job"), ("", "Node"), ("example.com", "Widget")):
        assert all(isinstance(value, str) for value in fields_of(group, kind, document, [".spec.x"]).values())
