"""Objects as PartialObjectMetadata."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from kwsync.testing.apiserver._partial import partial, partial_list
from tests.testing.apiserver import recorded
from tests.values import json_objects


def test_an_object_keeps_its_metadata_only() -> None:
    """Recorded: the same object whole and in part."""
    whole = recorded.body("get-ok")
    assert json.dumps(partial(whole)) == json.dumps(recorded.body("get-partial"))


@pytest.mark.parametrize("name", ["watch-partial", "watch-partial-bookmark"])
def test_watch_events_and_bookmarks_alike(name: str) -> None:
    """A bookmark is a PartialObjectMetadata, too; only ERROR is not."""
    for event in recorded.transcript(name).events:
        assert json.dumps(partial({"metadata": event["object"]["metadata"]})) == json.dumps(event["object"])


def test_items_of_a_list_say_what_they_are() -> None:
    """Unlike those of a plain list."""
    expected = recorded.body("list-partial")
    answer = partial_list([{"metadata": item["metadata"]} for item in expected["items"]], expected["metadata"])
    assert json.dumps(answer) == json.dumps(expected)


def test_the_older_version_can_be_asked_for() -> None:
    """meta.k8s.io/v1beta1, in the list and in its items."""
    answer = partial_list([{"metadata": {}}], {}, "v1beta1")
    assert {answer["apiVersion"], answer["items"][0]["apiVersion"]} == {"meta.k8s.io/v1beta1"}


@given(json_objects)
def test_any_object_has_metadata(document: dict[str, object]) -> None:
    """If only empty ones."""
    assert isinstance(partial(document)["metadata"], dict)
