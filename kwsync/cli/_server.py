"""A Kubernetes API server in memory, for the length of a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kwsync import CancelToken
from kwsync._threads import make_thread
from kwsync.cli._errors import CommandError, ExitCode
from kwsync.cli._stage import Workload, play

if TYPE_CHECKING:
    from kwsync.testing import ApiServer

_JOIN_SECONDS = 2.0


@contextmanager
def running_server(port: int) -> Iterator[ApiServer]:
    """A server that listens; `CommandError` where the port cannot be had."""
    server = new_server(port)
    try:
        server.start()
    except OSError as error:
        sentence = f"port {port} cannot be used: {error.strerror}: choose another --port"
        raise CommandError(sentence, ExitCode.FAILED) from None
    try:
        yield server
    finally:
        server.stop()


def new_server(port: int) -> ApiServer:
    """The one seam to the server, which the other commands need not load."""
    from kwsync.testing import ApiServer

    return ApiServer(port=port)


@contextmanager
def happening(server: ApiServer) -> Iterator[None]:
    """The workload goes on."""
    workload, cancel = Workload(server), CancelToken()
    workload.prepare()
    thread = make_thread(lambda: play(workload.stories(), cancel), "kwsync-cli-workload")
    thread.start()
    try:
        yield
    finally:
        cancel.set()
        thread.join(_JOIN_SECONDS)
