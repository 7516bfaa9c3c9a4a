"""What the tests of the client share: clients for scripted servers, and calls that run beside the test."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pytest

from kwsync import Client, Cluster, WatchError
from kwsync.credentials import Credential
from kwsync.testing import Request, ScriptedServer

LIMIT = 5.0
"""Seconds that anything may take which should happen at once."""

SECRET = "made-up-secret"

_T = TypeVar("_T")


def client_of(server: ScriptedServer, credential: Credential | None = None, **options: Any) -> Client:
    """A client for a scripted server, with limits that no test should come near."""
    return Client(Cluster(server.url), credential, **{"connect_timeout": LIMIT, "request_timeout": LIMIT, **options})


def failure(call: Callable[[], object]) -> WatchError:
    """The error that a call raises."""
    with pytest.raises(WatchError) as caught:
        call()
    return caught.value


def document(request: Request) -> Any:
    """The body of a request, decoded; None where there is none."""
    return json.loads(request.body) if request.body else None


def wait_until(predicate: Callable[[], object], what: str, limit: float = LIMIT) -> None:
    """Look every few milliseconds whether something has become true."""
    deadline = time.monotonic() + limit
    pause = threading.Event()
    while not predicate():
        assert time.monotonic() < deadline, f"waited {limit} s for {what}"
        pause.wait(0.003)


class Running(Generic[_T]):
    """A call on a thread of its own, and its outcome."""

    def __init__(self, call: Callable[[], _T]) -> None:
        self._call = call
        self._results: list[_T] = []
        self._errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, name="test-call", daemon=True)
        self._thread.start()

    def result(self, limit: float = LIMIT) -> _T:
        """What it returned; what it raised is raised here."""
        self.join(limit)
        if self._errors:
            raise self._errors[0]
        return self._results[0]

    def error(self, limit: float = LIMIT) -> BaseException:
        """What it raised."""
        self.join(limit)
        assert self._errors, f"the call returned {self._results[0]!r:.200}"
        return self._errors[0]

    def join(self, limit: float = LIMIT) -> None:
        """Wait until it has ended, however it did."""
        self._thread.join(limit)
        assert not self._thread.is_alive(), f"the call did not end within {limit} s"

    def _run(self) -> None:
        try:
            self._results.append(self._call())
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test asks for it
            self._errors.append(error)


def in_child(work: Callable[[], str]) -> str:
    """What a function returns in a forked child, which ends without any clean-up, as the children of servers do."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # From Python 3.12 on a fork beside threads warns; forking beside threads is what is tried here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            try:
                answer = work()
            except BaseException:  # noqa: BLE001 - the parent reports it
                answer = traceback.format_exc()
            os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read().decode()
    os.waitpid(child, 0)
    return answer
