"""Ctrl-C strikes anywhere: here at each line of an election, one after another, in each of its forms."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType

import pytest

from kwsync import CancelToken, Client, ElectionEnd, Leadership, _single, _threads
from kwsync._election import _announce, _campaign, _candidate, _elector, _leading, _running
from kwsync.testing import ApiServer
from tests.election.support import LIMIT, Notes, holder, wait_until
from tests.keeping.support import in_background
from tests.keeping.test_interrupted import Interruption

LOOP = {room.__file__ for room in (_announce, _campaign, _elector, _leading, _running)}
FILES = {"returns": {*LOOP, _candidate.__file__, _single.__file__, _threads.__file__}, "goes on": LOOP}
FILES["block"] = FILES["returns"]

LEAST = {"returns": 100, "goes on": 100, "block": 40}
"""So many lines at least are there to be struck."""

ENDING = {"resign", "_end_campaign", "_once", "leave"}
"""The functions that give the Lease back, or call those: where one of these is struck it may have to run out."""


@pytest.fixture
def client(api_server: ApiServer) -> Iterator[Client]:
    """A client of the server in memory."""
    with api_server.client() as made:
        yield made


class Scene:
    """An elector, and what its work was given."""

    def __init__(self, client: Client) -> None:
        self.notes = Notes()
        self.token = CancelToken()
        self.leaderships: list[Leadership] = []
        self.struck: list[str] = []
        self.elector = self.notes.elector(client, on_started=self.go_on, on_new_leader=None, retry_period=0.01)

    def go_on(self, leadership: Leadership) -> None:
        """Work that goes on until it is told to end, which it sees to."""
        self.leaderships.append(leadership)
        leadership.cancel.wait(0.015)
        self.token.set()
        assert leadership.cancel.wait(LIMIT), "nobody told the work to end"

    def block(self) -> None:
        """So for a block."""
        with self.elector.leading() as leadership:
            self.leaderships.append(leadership)

    def interrupt(self) -> None:
        """As Ctrl-C does."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            self.struck += [frame.f_code.co_name] if frame.f_code.co_filename in LOOP else []
            frame = frame.f_back
        raise KeyboardInterrupt

    def check(self) -> None:
        """Nothing goes on, and the elector may be used again."""
        assert all(leadership.cancel.is_set() for leadership in self.leaderships)
        assert not any(leadership.is_valid() for leadership in self.leaderships)
        assert self.elector.lead(self.leaderships.append) is ElectionEnd.FINISHED

    def is_quiet(self) -> bool:
        """Does nobody lead, work, or renew?"""
        return not self.elector.is_leader() and self.elector.healthy() and not threads()


def threads() -> list[str]:
    """Those of elections."""
    return [each.name for each in threading.enumerate() if each.name.startswith(("kwsync-lead", "kwsync-elec"))]


FORMS: dict[str, Callable[[Scene], object]] = {
    "returns": lambda scene: scene.elector.lead(scene.leaderships.append),
    "goes on": lambda scene: scene.elector.run(scene.token),
    "block": Scene.block,
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a finalizer CPython swallows it
@pytest.mark.parametrize("form", FORMS)
def test_interrupted_anywhere(api_server: ApiServer, client: Client, form: str) -> None:
    """Whatever line is struck, nothing leads or works behind the back of who was interrupted, and it can be run again.

    At nearly every line the Lease is given back, too; where the end itself is struck, it has to run out.
    """

    def run() -> None:
        number, happened = 0, True
        while happened:
            scene = Scene(client)
            with Interruption(FILES[form], "line", number, scene.interrupt) as strike, suppress(KeyboardInterrupt):
                FORMS[form](scene)
            happened = strike.happened
            wait_until(scene.is_quiet, f"the end of all of it: {scene.elector!r}, {threads()}")
            assert not (happened and holder(api_server)) or ENDING & set(scene.struck), scene.struck
            scene.check()
            number += 1
        assert number > LEAST[form]

    # What a trace function raises can leave a thread in the middle of handling it, which here is its own.
    with in_background(run, limit=50):
        pass
