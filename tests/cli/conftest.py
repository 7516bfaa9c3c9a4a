"""Fixtures: an API server with a clock that stands still, and a user's environment for it."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from kwsync.testing import ApiServer
from tests.cli.support import Environment

# The suite also runs once without what is optional.
if not all(importlib.util.find_spec(name) for name in ("click", "yaml")):
    collect_ignore_glob = ["test_*.py"]

NOON = datetime(2026, 6, 1, 12, 0, 0, tzinfo=timezone.utc)


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer(now=lambda: NOON) as server:
        yield server


@pytest.fixture
def environment(api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """KUBECONFIG names the server, for this process and for those it starts."""
    path = tmp_path / "config"
    path.write_text(json.dumps(api.kubeconfig("bob")))
    return Environment(monkeypatch, tmp_path).use(path)
