"""Events as values and documents, within what servers take; B168."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync._event_documents import (
    NOTE_BYTES,
    Occurrence,
    cut,
    event,
    event_name,
    namespace_of,
    occurrence,
    reference,
    series,
    source,
)

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "here", "uid": "1", "resourceVersion": "5", "labels": {"x": "y"}},
    "spec": {},
}
REFERENCE = {"apiVersion": "v1", "kind": "Pod", "name": "a", "namespace": "here", "uid": "1", "resourceVersion": "5"}


def happened(regarding: Any = POD, **options: Any) -> Occurrence:
    """Something."""
    given = {"reason": "Tested", "note": "a note", "type": "Normal", "action": None, "related": None, "at": 1.5}
    return occurrence(regarding, **{**given, **options})


class TestReference:
    def test_of_object(self) -> None:
        """Of an object its kind, name and version; an ObjectReference as it is, with a path to a field."""
        assert reference(POD, "it").document() == REFERENCE
        assert reference(REFERENCE, "it") == reference(POD, "it")
        path = {"kind": "Pod", "name": "a", "fieldPath": "spec.containers{main}", "unknown": "x"}
        assert reference(path, "it").document() == {"kind": "Pod", "name": "a", "fieldPath": "spec.containers{main}"}

    def test_identity(self) -> None:
        """All versions of an object are the same; another uid is another."""
        one, two = (reference({**REFERENCE, "resourceVersion": version}, "it") for version in "56")
        assert one != two
        assert one.identity == two.identity
        assert one.identity != reference({**REFERENCE, "uid": "2"}, "it").identity

    @pytest.mark.parametrize("given", [{}, {"kind": "Pod"}, {"name": "a"}, {"kind": "Pod", "metadata": {}}])
    def test_incomplete(self, given: dict[str, Any]) -> None:
        """Kind and name must be there."""
        with pytest.raises(ValueError, match="regarding has no kind and name"):
            happened(given)

    def test_no_reference(self) -> None:
        """What is no mapping, or has other things than strings in it, is a TypeError."""
        with pytest.raises(TypeError, match="regarding must be an object"):
            happened("a")
        with pytest.raises(TypeError, match="related must be an object"):
            happened(related=5)
        with pytest.raises(TypeError, match="name must be a string"):
            happened({"kind": "Pod", "name": 5})


class TestOccurrence:
    def test_b168_type(self) -> None:
        """The type is Normal or Warning; client-go drops others with a log line, here they raise."""
        assert happened(type="Warning").type == "Warning"
        with pytest.raises(ValueError, match="Normal or Warning"):
            happened(type="Error")

    def test_action(self) -> None:
        """Servers want an action; without one it is the reason."""
        assert happened().action == "Tested"
        assert happened(action="Testing").action == "Testing"

    @pytest.mark.parametrize("word", ["reason", "action"])
    def test_words(self, word: str) -> None:
        """Words have 1 to 128 bytes."""
        happened(**{word: "x" * 128})
        for bad in ("", "x" * 129, "ä" * 65):
            with pytest.raises(ValueError, match=f"{word} must have 1 to 128 bytes"):
                happened(**{word: bad})
        with pytest.raises(TypeError, match=word):
            happened(**{word: 5})

    @given(st.text(st.characters(), max_size=3000))
    def test_note(self, note: str) -> None:
        """A note has at most 1,024 bytes, whole characters, and a sign where it was cut; a short one is as it was."""
        found = cut(note)
        data = found.encode()
        assert len(data) <= NOTE_BYTES
        whole = note.encode("utf-8", "replace").decode()
        assert found == whole or (found.endswith("…") and whole.startswith(found[:-1]) and len(data) > NOTE_BYTES - 7)


class TestSource:
    @pytest.mark.parametrize("name", ["controller", "example.com/controller", "a.b-c_d", "a" * 63])
    def test_good(self, name: str) -> None:
        """Names that servers take."""
        assert source(name, "i").component == name

    @pytest.mark.parametrize("name", ["", "a b", "a/b/c", "/a", "a/", "Example.com/a", "a" * 64, "ä"])
    def test_bad(self, name: str) -> None:
        """Names that servers refuse."""
        with pytest.raises(ValueError, match="component"):
            source(name, "i")

    def test_instance(self) -> None:
        """An instance has 1 to 128 bytes."""
        for bad in ("", "x" * 129):
            with pytest.raises(ValueError, match="instance"):
                source("a", bad)


class TestDocument:
    def test_whole(self) -> None:
        """All that a server wants, and nothing that it does not know."""
        found = event(happened(related=REFERENCE), source("example.com/c", "i"), "a.1", series(2, 2.5))
        assert found == {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "a.1", "namespace": "here"},
            "eventTime": "1970-01-01T00:00:01.500000Z",
            "reportingController": "example.com/c",
            "reportingInstance": "i",
            "action": "Tested",
            "reason": "Tested",
            "regarding": REFERENCE,
            "related": REFERENCE,
            "note": "a note",
            "type": "Normal",
            "series": {"count": 2, "lastObservedTime": "1970-01-01T00:00:02.500000Z"},
        }

    def test_b168_namespace(self) -> None:
        """The event stands beside the object; for one without a namespace in default."""
        assert namespace_of(happened()) == "here"
        assert namespace_of(happened({"kind": "Node", "name": "a"})) == "default"

    def test_b168_name(self) -> None:
        """The name is the object's, a dot, and the nanoseconds in hexadecimal; None where that is no name."""
        assert event_name(happened(), 255) == "a.ff"
        for name in ("system:a", "A", "a" * 251):
            assert event_name(happened({"kind": "ClusterRole", "name": name}), 255) is None
        assert event_name(happened({"kind": "ClusterRole", "name": "a" * 250}), 255) is not None

    @given(st.floats(0, 4e9))
    def test_times(self, seconds: float) -> None:
        """A time always has six digits behind the second, also a whole one."""
        found = series(2, seconds)["series"]["lastObservedTime"]
        assert len(found) == len("2026-01-02T03:04:05.000006Z")
        assert found[19] == "."
