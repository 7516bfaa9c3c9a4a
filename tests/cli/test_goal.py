"""``--until`` and ``-o diff``, as they are run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kwsync.cli import main
from kwsync.cli._errors import ExitCode
from kwsync.testing import ApiServer, Fault
from tests.cli.support import config_map, create_all, pod, started

pytestmark = pytest.mark.usefixtures("environment")

RUNNING = {"status": {"phase": "Running"}}
FORMATS = ["table", "wide", "name", "json", "yaml", "diff"]


@pytest.mark.parametrize("form", FORMATS)
def test_comes_to_be(api: ApiServer, tmp_path: Path, form: str) -> None:
    """The command ends with 0 when an object comes into the state, in every format, and says which."""
    create_all(api, pod("a"), pod("b"))
    with started(tmp_path, "watch", "pods", "-o", form, "--until", ".status.phase=Running") as command:
        command.until("b")
        api.patch("pods", "b", RUNNING, subresource="status")
        assert command.end(None) == ExitCode.DONE
    assert command.errors == "kwsync: .status.phase=Running: default/b\n"


@pytest.mark.parametrize("form", FORMATS)
def test_is_so_already(api: ApiServer, capsys: pytest.CaptureFixture[str], form: str) -> None:
    """Where an object is in the state from the beginning, the state is shown all the same, and that was it."""
    create_all(api, pod("a"))
    api.patch("pods", "a", RUNNING, subresource="status")
    assert main(["watch", "pods", "-o", form, "--until", "jsonpath={.status.phase}=Running"]) == ExitCode.DONE
    assert "a" in capsys.readouterr().out


def test_only_what_is_created_now(api: ApiServer, tmp_path: Path) -> None:
    """With --no-initial what was there before is not created, whatever becomes of it."""
    create_all(api, pod("a"))
    with started(tmp_path, "watch", "pods", "-o", "json", "--no-initial", "--until", "create") as command:
        api.wait_for_requests(2)  # the list, and the watch
        api.patch("pods", "a", RUNNING, subresource="status")
        command.until("MODIFIED")
        create_all(api, pod("b"))
        assert command.end(None) == ExitCode.DONE
    assert command.errors == "kwsync: create: default/b\n"


@pytest.mark.parametrize("form", ["table", "json"])
def test_only_changes(api: ApiServer, tmp_path: Path, form: str) -> None:
    """So it is with every state: an object that is in it already counts with its next change."""
    create_all(api, pod("a"), pod("b"))
    for name in "ab":
        api.patch("pods", name, RUNNING, subresource="status")
    arguments = ["-o", form, "--no-initial", "--until", ".status.phase=Running"]
    with started(tmp_path, "watch", "pods", *arguments) as command:
        api.wait_for_requests(2 if form == "json" else 4)  # lists, and watches
        api.patch("pods", "b", {"metadata": {"labels": {"a": "b"}}})
        assert command.end(None) == ExitCode.DONE
    assert command.errors == "kwsync: .status.phase=Running: default/b\n"


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_deletion_that_nobody_saw_tells_its_kind(api: ApiServer, tmp_path: Path, form: str) -> None:
    """Of an object that was gone with the next list, programs are told kind, version and names."""
    create_all(api, pod("a"))
    with started(tmp_path, "watch", "pods", "-o", form, "--until", "delete") as command:
        api.wait_for_requests(2)  # the list, and the watch
        api.fail_next(Fault.error_event(410), verb="watch")
        with api.unseen():
            api.delete("pods", "a")
        api.end_watches()
        assert command.end(None) == ExitCode.DONE
    *_, document = yaml.safe_load_all("\n".join(command.lines)) if form == "yaml" else map(json.loads, command.lines)
    assert (document["type"], document["finalStateUnknown"]) == ("DELETED", True)
    assert (document["object"]["apiVersion"], document["object"]["kind"]) == ("v1", "Pod")
    assert document["object"]["metadata"]["name"] == "a"


def test_is_gone_already(capsys: pytest.CaptureFixture[str]) -> None:
    """delete is reached when there is nothing to be deleted."""
    assert main(["watch", "pods", "--until", "delete"]) == ExitCode.DONE
    assert capsys.readouterr().err.endswith("kwsync: delete: there is no object\n")


def test_is_deleted(api: ApiServer, tmp_path: Path) -> None:
    """And when what was there has been deleted."""
    create_all(api, config_map("a"))
    with started(tmp_path, "watch", "configmaps", "--until", "delete", "-o", "name") as command:
        command.until("configmap/a")
        api.delete("configmaps", "a")
        assert command.end(None) == ExitCode.DONE


@pytest.mark.parametrize("form", ["table", "json"])
def test_not_in_time(api: ApiServer, capsys: pytest.CaptureFixture[str], form: str) -> None:
    """--timeout is a failure then: the caller has to know."""
    create_all(api, pod("a"))
    arguments = ["watch", "pods", "-o", form, "--until", "condition=Ready", "--timeout", "0.5"]
    assert main(arguments) == ExitCode.NOT_REACHED
    assert capsys.readouterr().err == "kwsync: --timeout was over before condition=Ready\n"


def test_not_while_the_kind_is_looked_up(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Also when the time was over before anything could be watched."""
    api.fail_next(Fault.late_headers(), path="/apis*", times=5)
    api.fail_next(Fault.late_headers(), path="/api*", times=5)
    arguments = ["watch", "widgets.example.com", "--until", "create", "--timeout", "0.3"]
    assert main(arguments) == ExitCode.NOT_REACHED
    assert "was over before create" in capsys.readouterr().err


def test_no_such_state(capsys: pytest.CaptureFixture[str]) -> None:
    """What is no state to wait for is refused with examples of some."""
    assert main(["watch", "pods", "--until", "Ready"]) == ExitCode.USAGE
    assert "condition=Ready" in capsys.readouterr().err


def test_differences(api: ApiServer, tmp_path: Path) -> None:
    """-o diff shows the fields that changed, and nothing where that was bookkeeping alone."""
    create_all(api, config_map("a", k="v"))
    with started(tmp_path, "watch", "configmaps", "-o", "diff") as command:
        command.until("ADDED")
        api.patch("configmaps", "a", {"data": {"k": "w", "new": "n"}})
        command.until("new")
        api.delete("configmaps", "a")
        command.until("DELETED")
        assert command.end() == 130
    assert command.lines == [
        "ADDED    configmap/a",
        "MODIFIED configmap/a",
        "  ~ data.k: v → w",
        "  + data.new: n",
        "DELETED  configmap/a",
    ]


def test_differences_of_what_was_not_shown(api: ApiServer, tmp_path: Path) -> None:
    """With --no-initial a change is compared all the same."""
    create_all(api, config_map("a", k="v"))
    with started(tmp_path, "watch", "configmaps", "-o", "diff", "--no-initial") as command:
        api.wait_for_requests(2)  # the list, and the watch
        api.patch("configmaps", "a", {"data": {"k": "w"}})
        command.until("data.k")
        assert command.end() == 130
    assert command.lines == ["MODIFIED configmap/a", "  ~ data.k: v → w"]
