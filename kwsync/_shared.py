"""Informers that are shared: one watch for each selection, however many ask for it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from kwsync import _clock
from kwsync._backoff import Backoff
from kwsync._callbacks import ErrorCallback
from kwsync._client import Client
from kwsync._following import PAGE_SIZE
from kwsync._indexes import Indexer, checked_indexers
from kwsync._informer import EXIT_SECONDS, Informer
from kwsync._intake import Transform
from kwsync._query import MAX_LINE_BYTES, FieldSelector, LabelSelector, Selection
from kwsync._resources import Resource, parse_or_defer
from kwsync._selectors import label_selector as label_text


class SharedInformers:
    """Informers of one client, one for each selection of objects: who asks for the same gets the same.

        informers = SharedInformers(client)
        pods = informers.informer("pods", namespace="default")
        with informers:
            informers.wait_synced(30)

    *client* is None for the process's own; *on_error* is that of all of them. Every method is for any thread.
    """

    def __init__(self, client: Client | None = None, *, on_error: ErrorCallback | None = None) -> None:
        self._client = client
        self._on_error = on_error
        self._informers: dict[tuple[Any, ...], tuple[dict[str, Any], Informer]] = {}

    def informer(
        self,
        resource: str | Resource,
        *,
        namespace: str | None = None,
        name: str | None = None,
        label_selector: LabelSelector | None = None,
        field_selector: FieldSelector | None = None,
        view: str = "object",
        page_size: int | None = PAGE_SIZE,
        timeout_seconds: int | None = None,
        watch_list: bool = False,
        backoff: Backoff | None = None,
        max_line_bytes: int = MAX_LINE_BYTES,
        cancel: threading.Event | None = None,
        indexers: Mapping[str, Indexer] | None = None,
        transform: Transform | None = None,
        resync: float | None = None,
        compress: bool = False,
    ) -> Informer:
        """The informer of this selection; it is made at the first call, and started by `start`.

        The arguments are those of `Informer`. What tells no objects apart must be the same at each call, else
        ValueError (*transform* and *cancel*: the very same); but *indexers* are added to those that there are, see
        `Informer.add_indexers`.
        """
        selection = Selection(
            namespace=namespace,
            name=name,
            label_selector=label_selector,
            field_selector=field_selector,
            view=view,
        )
        options = {
            "page_size": page_size,
            "timeout_seconds": timeout_seconds,
            "watch_list": watch_list,
            "backoff": Backoff() if backoff is None else backoff,
            "max_line_bytes": max_line_bytes,
            "cancel": cancel,
            "transform": transform,
            "resync": resync,
            "compress": compress,
        }
        wanted = checked_indexers(indexers)
        key = _key(resource, selection, label_selector)
        if key not in self._informers:
            new = options, self._new(resource, selection, options)
            self._informers.setdefault(key, new)  # atomic, and no lock that a fork or a finalizer could find taken
        before, informer = self._informers[key]
        others = [name for name, value in options.items() if before[name] != value]
        if others:
            raise ValueError(f"{informer} is there, with another {', '.join(others)}: ask for the same")
        informer.add_indexers(wanted)
        return informer

    def _new(self, resource: str | Resource, selection: Selection, options: dict[str, Any]) -> Informer:
        return Informer(
            resource,
            client=self._client,
            namespace=selection.namespace,
            name=selection.name,
            label_selector=selection.label_selector,
            field_selector=selection.field_selector,
            view=selection.view,
            on_error=self._on_error,
            **options,
        )

    @property
    def informers(self) -> list[Informer]:
        """Those that there are."""
        return [informer for _, informer in self._informers.copy().values()]

    def start(self) -> None:
        """Start those that do not run; call it again when there are new ones. Raises as `Informer.start`, but not where
        one runs already, whoever has started it.
        """
        for informer in self.informers:
            informer._start()

    def wait_synced(self, timeout: float | None = None) -> bool:
        """Wait, at most *timeout* seconds, until each is synced; False at once when any of them does not run.

        Which one it is, the ``status`` of each tells.
        """
        end, informers = _clock.deadline(timeout), self.informers
        if not all(informer.status.running for informer in informers):
            return False
        return all(informer.wait_synced(_clock.seconds_left(end)) for informer in informers)

    def stop(self) -> None:
        """Stop all of them, and return at once."""
        for informer in self.informers:
            informer.stop()

    def join(self, timeout: float | None = None) -> bool:
        """As `Informer.join`, for all of them together."""
        end = _clock.deadline(timeout)
        return all([informer.join(_clock.seconds_left(end)) for informer in self.informers])  # noqa: C419 - each is asked

    def __enter__(self) -> SharedInformers:
        try:
            self.start()
        except BaseException:
            self._leave()  # those that were started
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        self.stop()
        end = _clock.deadline(EXIT_SECONDS)
        for informer in self.informers:
            informer._leave(end)

    def __repr__(self) -> str:
        return f"<SharedInformers {self.informers}>"


def _key(resource: str | Resource, selection: Selection, labels: LabelSelector | None) -> tuple[Any, ...]:
    """What tells one selection from another, however it is written. A name is a field, as the server is asked."""
    found = resource if isinstance(resource, Resource) else parse_or_defer(resource) or resource
    pairs = dict(selection.selector_pairs())
    if isinstance(labels, Mapping):
        pairs["labelSelector"] = ",".join(sorted(label_text({key: value}) for key, value in labels.items()))
    return found, selection.namespace, selection.view, *sorted((name, text) for name, text in pairs.items() if text)
