"""Label selectors, decided on this side as the server decides them."""

from __future__ import annotations

import pytest

from kwsync._matching import label_matcher
from tests.keeping import selectors

LABELS = {"app": "web", "tier": "front", "replicas": "3", "empty": "", "example.com/team": "a.b_c-d"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", True),
        ("app", True),
        ("none", False),
        ("!app", False),
        ("! none", True),
        ("app=web", True),
        ("app==web", True),
        (" app = web ", True),
        ("app=db", False),
        ("none=web", False),
        ("empty=", True),
        ("empty", True),
        ("none=", False),
        ("app!=web", False),
        ("app!=db", True),
        ("none!=web", True),
        ("app in (web)", True),
        ("app in (db, web)", True),
        ("app in(db,web)", True),
        ("app in (db)", False),
        ("none in (web)", False),
        ("empty in (,x)", True),
        ("app notin (db)", True),
        ("app notin (db,web)", False),
        ("none notin (db)", True),
        ("replicas>2", True),
        ("replicas>3", False),
        ("replicas<4", True),
        ("app<4", False),
        ("none>1", False),
        ("app=web,tier=front", True),
        ("app in (web,db),tier!=back,!none", True),
        ("app in (web,db),tier=back", False),
        ("example.com/team=a.b_c-d", True),
        ("in", False),
        ("notin in (a)", False),
    ],
)
def test_selector(selector: str, expected: bool) -> None:
    """Every requirement has the server's meaning, and all of them have to hold."""
    assert label_matcher(selector)(LABELS) is expected


@pytest.mark.parametrize("selector", selectors.MATCHING)
def test_as_the_server_matches(selector: str) -> None:
    """What matches on the server matches here, however oddly it is written."""
    assert label_matcher(selector)(selectors.LABELS)


@pytest.mark.parametrize("selector", selectors.OTHERS)
def test_as_the_server_does_not_match(selector: str) -> None:
    """And what does not, does not."""
    assert not label_matcher(selector)(selectors.LABELS)


@pytest.mark.parametrize("selector", [*selectors.REFUSED, "app=web\0x"])
def test_as_the_server_refuses(selector: str) -> None:
    """What the server answers with 400 is a ValueError: keys and values that no label can have, too large numbers."""
    with pytest.raises(ValueError, match=r"label selector|whole number"):
        label_matcher(selector)


@pytest.mark.parametrize("text", ["", "web", "-5", "9223372036854775808", "1" * 100, "1_0", " 1", "\u0661"])
def test_labels_that_are_no_numbers(text: str) -> None:
    """A label that is no whole number of 64 bits is neither more nor less than one."""
    assert label_matcher("n>0")({"n": text}) is label_matcher("n<0")({"n": "1"}) is False


def test_mapping() -> None:
    """A mapping means what it means when it is sent to a server."""
    assert label_matcher({"app": ["web", "db"], "tier": None})(LABELS)
    assert not label_matcher({"app": "db"})(LABELS)


@pytest.mark.parametrize(
    "selector",
    [
        ",",
        "app,",
        "app=web,",
        "=web",
        "app in web",
        "app in (a",
        "!app=web",
        "!app in (a)",
        "app web",
        "a=b c=d",
        "a>x",
        "a=(b)",
        "app notin",
    ],
)
def test_no_selector(selector: str) -> None:
    """What the server refuses is a ValueError here, never a selector that matches something."""
    with pytest.raises(ValueError, match=r"selector|whole number"):
        label_matcher(selector)
