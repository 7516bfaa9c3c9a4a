"""What a test needs of others is skipped where it is missing, and never in CI."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.controlplane.fixtures import REQUIRED
from tests.testing.apiserver.required import required_module, required_program


@pytest.fixture(params=[{}, {REQUIRED: "1"}, {"CI": "true"}, {"CI": "true", REQUIRED: "0"}], ids=str)
def outcome(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[BaseException]:
    """In each environment, how a test ends that misses something."""
    for name in (REQUIRED, "CI"):
        monkeypatch.delenv(name, raising=False)
    for name, value in request.param.items():
        monkeypatch.setenv(name, value)
    must_run = request.param in ({REQUIRED: "1"}, {"CI": "true"})
    return pytest.fail.Exception if must_run else pytest.skip.Exception


def test_program(outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A program that is nowhere on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(outcome, match="kubectl is not on the PATH"):
        required_program("kubectl")


def test_module(outcome: type[BaseException]) -> None:
    """A client that is not installed."""
    with pytest.raises(outcome, match="nosuch is not installed"):
        required_module("nosuch.client")


def test_module_of_a_module(outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A client whose own requirement was left out on purpose is skipped, everywhere."""
    (tmp_path / "needy_client.py").write_text("import nosuch_requirement\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(pytest.skip.Exception, match="needy_client needs nosuch_requirement"):
        required_module("needy_client")
    assert "needy_client" not in sys.modules


def test_there() -> None:
    """What is there is given."""
    assert Path(required_program("sh")).name == "sh"
    assert required_module("json.decoder").JSONDecodeError
