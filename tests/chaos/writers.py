"""Threads that change objects as fast as they can, and stand still when they are told to."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from .views import key_of

NAMESPACES = ("default", "kube-public")
FILL = "x" * 300
LABELS = {"chaos": "true"}


class Writing(Protocol):
    """The server's verbs that a writer needs."""

    def create(self, document: dict[str, Any]) -> None: ...

    def replace(self, document: dict[str, Any]) -> None: ...

    def delete(self, namespace: str, name: str) -> None: ...

    def list(self) -> list[dict[str, Any]]: ...


class Writer:
    """One writer, who alone writes its objects."""

    def __init__(self, number: int, server: Writing, seed: int, objects: int, group: Writers) -> None:
        self.name = f"chaos-writer-{number}"
        self._server = server
        self._chance = random.Random(f"{seed}-{number}")
        self._keys = [(NAMESPACES[i % len(NAMESPACES)], f"w{number}-{i:03}") for i in range(objects)]
        self._there: set[tuple[str, str]] = set()
        self._group = group

    def run(self) -> None:
        """Write until there is nothing left to do."""
        try:
            while self._group.may_write():
                self._write()
        except BaseException as error:
            self._group.failures.append(error)
            raise

    def look(self, documents: Iterable[dict[str, Any]]) -> None:
        """What is there, after the server has changed by itself."""
        present = {(key.namespace, key.name) for key in map(key_of, documents)}
        self._there = present & set(self._keys)

    def _write(self) -> None:
        key = self._chance.choice(self._keys)
        if key not in self._there:
            self._server.create(self._document(key))
            self._there.add(key)
        elif self._chance.random() < 0.85:
            self._server.replace(self._document(key))
        else:
            self._server.delete(*key)
            self._there.discard(key)
            if self._chance.random() < 0.5:
                self._server.create(self._document(key))
                self._there.add(key)

    def _document(self, key: tuple[str, str]) -> dict[str, Any]:
        token = str(self._group.next_token())
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": key[1], "namespace": key[0], "labels": LABELS},
            "data": {"token": token, "fill": FILL},
        }


class Writers:
    """All of them: how many writes there are to be, and whether they may go on."""

    def __init__(self, server: Writing, *, seed: int, threads: int = 3, objects: int = 60) -> None:
        self.failures: list[BaseException] = []
        self._server = server
        self._changed = threading.Condition()
        self._token = 0
        self._allowed = 0
        self._idle = 0
        self._ended = False
        self._writers = [Writer(number, server, seed, objects, self) for number in range(threads)]
        self._threads = [threading.Thread(target=each.run, name=each.name, daemon=True) for each in self._writers]

    @property
    def written(self) -> int:
        """Writes so far."""
        return self._token

    def start(self) -> None:
        """Start the threads, which wait."""
        for thread in self._threads:
            thread.start()

    def write(self, count: int, meanwhile: Callable[[], None]) -> None:
        """Let them make so many writes, and call *meanwhile* again and again while they do; then they stand still."""
        with self._changed:
            self._allowed = self._token + count
            self._changed.notify_all()
        while not self._is_done():
            meanwhile()
        if self.failures:
            raise self.failures[0]

    def look(self) -> None:
        """Look anew what is there; only while they stand still."""
        documents = self._server.list()
        for writer in self._writers:
            writer.look(documents)

    def stop(self) -> None:
        """End them."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive(), f"{thread.name} does not end"

    # For the writers

    def may_write(self) -> bool:
        """Wait until there is something to write; False at the end."""
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._ended or self._token < self._allowed)
            self._idle -= 1
            return not self._ended

    def next_token(self) -> int:
        """A number that is higher than all before."""
        with self._changed:
            self._token += 1
            return self._token

    def _is_done(self) -> bool:
        """Is everything written, and does everybody stand still?"""
        with self._changed:
            still = self._token >= self._allowed and self._idle == len(self._threads)
            return still or bool(self.failures)
