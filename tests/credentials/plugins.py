"""Plugins for tests: programs in sh that count their runs, and what they answer."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from kwsync import Cluster
from kwsync._cancel import Guard
from kwsync.credentials import AuthContext, Authorization, Credential, ExecPlugin
from tests.client.support import wait_until

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
SECRET = "made-up-sentinel-secret"
LIMIT = 5.0
"""Seconds that anything may take which should happen at once."""


def answer(api_version: str = V1, **status: Any) -> dict[str, Any]:
    """An ExecCredential."""
    return {"kind": "ExecCredential", "apiVersion": api_version, "status": status}


def moment(seconds: float) -> str:
    """A time as an ExecCredential has it, so many seconds from now."""
    return datetime.fromtimestamp(time.time() + seconds, timezone.utc).isoformat().replace("+00:00", "Z")


class Program:
    """A program in sh. Its output can be replaced at any time; each run is counted when it begins."""

    def __init__(self, folder: Path, name: str = "plugin", *, before: str = "", code: int = 0) -> None:
        folder.mkdir(exist_ok=True)
        self.path = folder / name
        self._output = folder / f"{name}.output"
        self._runs = folder / f"{name}.runs"
        self.path.write_text(f'#!/bin/sh\necho $$ >> "{self._runs}"\n{before}\ncat "{self._output}"\nexit {code}\n')
        self.path.chmod(0o755)
        self.gives(token="token-1")

    def gives(self, **status: Any) -> None:
        """From the next run on it answers with this status."""
        self.writes(json.dumps(answer(**status)))

    def writes(self, output: str | bytes) -> None:
        """From the next run on it writes this."""
        new = self._output.with_suffix(".new")
        new.write_bytes(output.encode() if isinstance(output, str) else output)
        new.replace(self._output)

    @property
    def processes(self) -> list[int]:
        """The process of each run."""
        return [int(line) for line in self._runs.read_text().split()] if self._runs.exists() else []

    @property
    def runs(self) -> int:
        """How many there were."""
        return len(self.processes)

    def wait_for_runs(self, number: int) -> None:
        """Wait until so many have begun."""
        wait_until(lambda: self.runs >= number, f"{number} runs of the plugin")

    def plugin(self, **options: Any) -> ExecPlugin:
        """A credential that runs it; without a wait between two runs, unless one is given."""
        return ExecPlugin(str(self.path), **{"interval": 0.0, **options})

    def user(self, **fields: Any) -> Mapping[str, Any]:
        """A kubeconfig's user that has it."""
        entry = {"apiVersion": V1, "interactiveMode": "Never", "command": str(self.path), **fields}
        return {"exec": {key: value for key, value in entry.items() if value is not None}}


def context_of(cluster: Cluster | None = None) -> AuthContext:
    """What a request tells its credential; it has a minute."""
    guard = Guard(time.monotonic() + 60.0)
    return AuthContext(cluster or Cluster("https://example.test"), guard.remaining, guard)


def proof_of(credential: Credential, cluster: Cluster | None = None) -> Authorization:
    """What a request would carry now."""
    return credential.authorize(context_of(cluster))


def token_of(credential: Credential, cluster: Cluster | None = None) -> str:
    """Its token."""
    return proof_of(credential, cluster).headers["Authorization"].removeprefix("Bearer ")
