"""``kwsync events``, as it is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwsync.testing import ApiServer, Fault
from tests.cli.support import create_all, event, first_lines, in_terminal, started

pytestmark = pytest.mark.usefixtures("environment")

NEW = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "new", "namespace": "default"},
    "regarding": {"kind": "Node", "name": "n1"},
    "reason": "Rebooted",
    "note": "it was rebooted",
    "action": "Reboot",
    "type": "Warning",
    "eventTime": "2026-05-01T11:00:00.000000Z",
    "reportingController": "example.com/c",
    "reportingInstance": "c-1",
}

OLD = event("old", "2026-05-01T10:00:00Z", count=12, since="2026-05-01T09:00:00Z", reason="BackOff")


def is_divider(line: str) -> bool:
    return line.startswith("-- ") and "what follows is new" in line


def test_backlog_then_news(api: ApiServer, tmp_path: Path) -> None:
    """Both APIs' Events in the order of their time, a line, then what comes; what expires is no news."""
    create_all(api, NEW, OLD)
    with started(tmp_path, "events") as command:
        command.until("what follows is new")
        api.delete("events", "old")
        api.create(event("later", "2026-05-01T12:00:00Z", reason="Killing"))
        command.until("Killing")
        api.patch("events", "later", {"count": 2, "lastTimestamp": "2026-05-01T12:05:00Z"})
        command.until("x2 over 5m")
        assert command.end() == 130
    assert not command.errors
    assert is_divider(command.lines.pop(3))
    assert command.lines == [
        "LAST SEEN          TYPE      REASON     OBJECT    MESSAGE",
        "2026-05-01 10:00   Normal    BackOff    pod/web   Started container main (x12 over 1h)",
        "2026-05-01 11:00   Warning   Rebooted   node/n1   it was rebooted",
        "2026-05-01 12:00   Normal    Killing    pod/web   Started container main",
        "2026-05-01 12:05   Normal    Killing    pod/web   Started container main (x2 over 5m)",
    ]


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_label_is_no_news(api: ApiServer, tmp_path: Path, form: str) -> None:
    """What was told is not told again because somebody marks the Event, be it of the backlog or new."""
    create_all(api, OLD)
    with started(tmp_path, "events", "-o", form) as command:
        command.until("BackOff")
        api.patch("events", "old", {"metadata": {"labels": {"seen": "yes"}}})
        api.create(event("later", "2026-05-01T12:00:00Z", reason="Killing"))
        api.patch("events", "later", {"metadata": {"labels": {"seen": "yes"}}})
        api.create(event("last", "2026-05-01T12:00:00Z", reason="Last"))
        command.until("Last")
        assert command.end() == 130
    reasons = [one for line in command.lines for one in ("BackOff", "Killing", "Last") if one in line]
    assert reasons == ["BackOff", "Killing", "Last"]


def test_each_once(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An Event that can be read through two APIs is shown once."""
    api.create(NEW)
    assert len(api.list("events")) == len(api.list("events.events.k8s.io")) == 1
    assert str(first_lines(monkeypatch, 3, "events")).count("Rebooted") == 1


@pytest.mark.parametrize(
    ("arguments", "reasons"),
    [
        (["--types", "Warning"], ["Rebooted"]),
        (["--types", "warning,normal"], ["BackOff", "Rebooted"]),
        (["--for", "pod/web"], ["BackOff"]),
        (["--for", "po/web"], ["BackOff"]),
        (["--for", "node/n1", "-n", "kube-system"], ["Rebooted"]),
        (["--for", "pod/other"], []),
        (["-n", "kube-system"], []),
        (["-A"], ["BackOff", "Rebooted"]),
        (["--no-initial"], []),
    ],
    ids=" ".join,
)
def test_selection(api: ApiServer, arguments: list[str], reasons: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """By type, whatever its case; by object, whose kind is spelled in any way; by namespace."""
    create_all(api, NEW, OLD)
    [_, *lines, divider] = first_lines(monkeypatch, 2 + len(reasons), "events", *arguments)
    assert is_divider(divider)
    assert [reason for line in lines for reason in ("BackOff", "Rebooted") if reason in line] == reasons


def test_json(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON has the same order, one Event a line in the form of a watch, and nothing between them."""
    create_all(api, NEW, OLD)
    events: list[dict[str, Any]] = [json.loads(line) for line in first_lines(monkeypatch, 2, "events", "-o", "json")]
    assert [(one["type"], one["object"]["reason"]) for one in events] == [("ADDED", "BackOff"), ("ADDED", "Rebooted")]


def test_terminal(api: ApiServer) -> None:
    """In a terminal warnings stand out, and the dividing line does not."""
    create_all(api, NEW)
    with in_terminal("events") as terminal:
        terminal.until("new -")
    assert "\x1b[33mWarning\x1b[0m" in terminal.text
    assert "\x1b[2m-- " in terminal.text


def test_escapes(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message cannot reach the terminal's controls, nor make a second line."""
    api.create(event("bad", "2026-05-01T10:00:00Z", message="\x1b[2J\nWarning fake"))
    written = str(first_lines(monkeypatch, 3, "events"))
    assert "\\\\x1b[2J Warning fake" in written
    assert "\x1b" not in written


@pytest.mark.parametrize("form", ["table", "json"])
@pytest.mark.parametrize("initial", [True, False], ids=["all", "no-initial"])
@pytest.mark.parametrize("seen", [True, False], ids=["watched", "missed"])
def test_expiry_is_no_news(form: str, initial: bool, seen: bool, api: ApiServer, tmp_path: Path) -> None:
    """That an Event is thrown away after its time is told nowhere, whether the watch or a second list tells of it."""
    create_all(api, OLD)
    with started(tmp_path, "events", "-o", form, *([] if initial else ["--no-initial"])) as command:
        api.wait_for_requests(2)  # the list, and the watch
        if not seen:
            api.fail_next(Fault.error_event(410), verb="watch")
            api.end_watches()
        api.delete("events", "old")
        api.create(event("later", "2026-05-01T12:00:00Z", reason="Killing"))
        command.until("Killing")
        lists = [request for request in api.requests if "watch" not in request.query]
        assert len(lists) == (1 if seen else 2)
        assert command.end() == 130
    told = [line for line in command.lines if "BackOff" in line]
    assert len(told) == initial
    assert "DELETED" not in str(command.lines)
