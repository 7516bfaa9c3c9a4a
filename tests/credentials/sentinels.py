"""Made-up secrets that can be searched for in whatever dress, and everything that a program may get to see."""

from __future__ import annotations

import base64
import io
import logging
import pickle
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote

from kwsync import Client, ConfigError, WatchError, watch_resource
from kwsync.credentials import describe

MARK = "sEnTiNeL/4711+x="
"""In every secret: with characters that URLs and base64 write in another way."""

TESTS = str(Path(__file__).parents[1])

TOKEN = f"token-{MARK}"
ENDED = 1
"""Seconds that a server may let a watch last."""


def dresses(secret: str) -> set[str]:
    """The secret as it is, percent-encoded, and in base64 wherever it stands among other bytes."""
    raw = secret.encode()
    shifted = [base64.b64encode(b"x" * shift + raw).decode()[shift + bool(shift) : -4] for shift in range(3)]
    return {secret, quote(secret, safe=""), quote(secret), *shifted}


def secrets_of(key: bytes) -> set[str]:
    """Of a key in PEM its longest line, also in base64 of the whole."""
    lines = [line for line in key.decode().splitlines() if not line.startswith("-----")]
    return {max(lines, key=len)[:40], base64.b64encode(key).decode()[200:240]}


class Log(logging.Handler):
    """Whatever any logger says, with its arguments and its exceptions."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told += [record.getMessage(), repr(record.args)]
        if record.exc_info and record.exc_info[1]:
            self.told += told_of(record.exc_info[1])

    def __enter__(self) -> Log:
        root = logging.getLogger()
        self._before = root.level, {name: logging.getLogger(name).level for name in ("kwsync.wire", "urllib3")}
        root.addHandler(self)
        root.setLevel(logging.NOTSET)
        for name in self._before[1]:
            logging.getLogger(name).setLevel(logging.DEBUG)
        return self

    def __exit__(self, *_: object) -> None:
        root = logging.getLogger()
        root.removeHandler(self)
        root.setLevel(self._before[0])
        for name, level in self._before[1].items():
            logging.getLogger(name).setLevel(level)


def told_of(error: BaseException) -> list[str]:
    """All that an exception tells, and those before it: texts, reprs, and tracebacks with the frames' variables.

    Some tools show these; those of the tests' own frames are the tests' matter.
    """
    told = traceback.format_exception(error)
    for each in chain(error):
        told += [str(each), repr(each), repr(each.args), repr(vars(each))]
        told += [repr(frame.f_locals) for frame, _ in traceback.walk_tb(each.__traceback__) if not _is_ours(frame)]
    if isinstance(error, WatchError):
        told += [pickle.dumps(error).decode("latin-1"), repr(error.status)]
    return told


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(TESTS)


def chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, its causes and contexts, however they are linked."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        below = waiting.pop()
        if below is not None and id(below) not in seen:
            seen.add(id(below))
            yield below
            waiting += [below.__cause__, below.__context__]


def caught(call: Callable[[], object]) -> list[str]:
    """What a call gives, or tells when it fails."""
    try:
        return [repr(call())]
    except (WatchError, ConfigError, ValueError, TypeError) as error:
        return told_of(error)


def used(client: Client) -> list[str]:
    """All that a client tells while it reads and watches, which may fail: but for what the server itself says."""
    told = [repr(client), str(client), repr(client.cluster), repr(describe(client.credential))]
    if not type(client.credential).__module__.startswith("tests."):  # how a user's own looks is the user's matter
        told += [repr(client.credential), str(client.credential)]
    told += caught(lambda: client.get("pods", "a", "ns"))
    told += caught(lambda: client.create("pods", {"metadata": {"name": "a", "namespace": "ns"}}))
    with watch_resource("pods", client=client, timeout_seconds=ENDED) as stream:
        for event in stream:
            told += [repr(event), str(event), pickle.dumps(event).decode("latin-1")]
            told += told_of(event.error) if event.error else []
        told += [repr(stream), repr(stream.end)]
    return [*told, repr(client), repr(describe(client.credential))]


def found_in(told: Iterable[str], needles: Iterable[str]) -> list[str]:
    """Where a secret shows itself: the texts, cut to what stands around it."""
    found = []
    for text in told:
        for needle in needles:
            at = text.find(needle)
            if at >= 0:
                found.append(text[max(0, at - 200) : at + len(needle) + 40])
    return found


def printed(call: Callable[[], Any], monkeypatch: Any) -> tuple[Any, str]:
    """What a call gives, and what it has printed on the way."""
    out = io.StringIO()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", out)
        given = call()
    return given, out.getvalue()
