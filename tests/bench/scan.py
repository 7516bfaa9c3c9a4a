"""What it takes to read objects without making dicts of them: microseconds an object, and the bytes that are kept."""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from kwsync import _json, _scan
from kwsync._events import ObjectKey
from kwsync._records import Record

from .children import running
from .feed import event_lines
from .imported import resident_mib
from .machine import version_of
from .pods import make_pod
from .report import Figure, Settings, at_most

SECTION = "scan"
PARSERS = ("msgspec", "orjson", "json")
"""The best that there is; the others are hidden."""

MICROSECONDS = {"msgspec": at_most(15), "orjson": at_most(35), "json": at_most(35)}
OVERHEAD = at_most(450)
PAGE = 500
TRACED = 4 * PAGE


def measure(settings: Settings, url: str) -> Iterator[Figure]:
    """Per parser: lists, lines, and a line as a multiple of the least that anybody has to do."""
    for parser in PARSERS:
        if parser != "json" and version_of(parser) is None:
            yield Figure(SECTION, parser, None, note=f"skipped: {parser} not installed")
            continue
        with running("scan", parser, str(settings.pick(20_000, PAGE)), str(settings.pick(25, 2))) as child:
            found = json.loads(child.hear())
        yield from _figures(parser, found)


def _figures(parser: str, found: dict[str, float]) -> Iterator[Figure]:
    floor, line = found["floor"], found["line"]
    yield Figure(SECTION, f"list, {parser}", found["list"], "us", MICROSECONDS[parser])
    yield Figure(SECTION, f"line, {parser}", line, "us", None, {"floor": floor, "decoded": found["decoded"]})
    yield Figure(SECTION, f"line, {parser} : floor", line / floor, "x")
    kept = {"bytes of JSON": found["raw"], "by resident memory": found["resident"]}
    yield Figure(SECTION, f"kept above the JSON, {parser}", found["overhead"], "bytes", OVERHEAD, kept)
    yield Figure(SECTION, f"most of a page above its objects, {parser}", found["peak"], "KiB")


def _page(start: int, count: int) -> bytes:
    """A list as a server writes it."""
    random, items = Random(start), []
    for number in range(start, start + count):
        pod = make_pod(random, number)
        items.append({key: value for key, value in pod.items() if key not in ("kind", "apiVersion")})
    document = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "4711"}, "items": items}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _floor() -> Callable[[bytes], object]:
    """Finding the object and its metadata with msgspec, or decoding the line, and making nothing of it."""
    if _scan._load_strategy() is _scan._plain.STRATEGY:
        return _json.loads
    msgspec = importlib.import_module("msgspec")
    of_metadata = msgspec.defstruct("M", [(key, str) for key in ("name", "namespace", "uid", "resourceVersion")])
    of_line = msgspec.json.Decoder(msgspec.defstruct("L", [("type", str), ("object", msgspec.Raw)])).decode
    of_object = msgspec.json.Decoder(msgspec.defstruct("O", [("metadata", of_metadata)])).decode

    def read(line: bytes) -> object:
        found = of_line(line).object
        return bytes(found), of_object(found)

    return read


def _times(rounds: int) -> dict[str, float]:
    """Microseconds of the processor for each object, in the best of the rounds, which take turns."""
    lines, page, floor = event_lines(PAGE), _page(0, PAGE), _floor()
    runs: dict[str, Callable[[], Any]] = {
        "floor": lambda: [floor(line) for line in lines],
        "line": lambda: [_scan.scan_line(line) for line in lines],
        "decoded": lambda: [_json.loads(line) for line in lines],
        "list": lambda: _scan.scan_list(page),
    }
    times = [{name: _time(run) for name, run in runs.items()} for _ in range(rounds)]
    return {name: min(each[name] for each in times) / PAGE * 1e6 for name in runs}


def _time(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def _records(count: int) -> dict[ObjectKey, Record]:
    """As a cache keeps them: each by its key."""
    kept = {}
    for start in range(0, count, PAGE):
        scanned = _scan.scan_list(_page(start, PAGE))
        assert scanned is not None
        for change in scanned.changes:
            assert change.record is not None
            kept[change.record.key] = change.record
    return kept


def _kept(count: int) -> dict[str, float]:
    """Bytes for each object, by what Python asks for and by what the system gives."""
    before = resident_mib()
    kept = _records(count)
    raw = sum(len(record.raw) for record in kept.values()) / count
    resident = (resident_mib() - before) * 1024 * 1024 / count
    del kept
    tracemalloc.start()
    traced = _records(TRACED)
    own = sum(len(record.raw) for record in traced.values())
    gc.collect()
    overhead = (tracemalloc.get_traced_memory()[0] - own) / TRACED
    tracemalloc.stop()
    return {"raw": raw, "resident": resident, "overhead": overhead}


def _peak() -> float:
    """KiB that scanning one page takes at its height, above the page and the bytes of its objects."""
    page = _page(0, PAGE)
    tracemalloc.start()
    scanned = _scan.scan_list(page)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert scanned is not None
    return (peak - sum(len(change.record.raw) for change in scanned.changes if change.record)) / 1024


def main(parser: str, count: int, rounds: int) -> None:
    """Print the numbers of one parser."""
    for other in PARSERS:
        if other not in (parser, "json"):
            sys.modules[other] = None  # type: ignore[assignment]  # as the import system says that there is none
    print(json.dumps({**_times(rounds), **_kept(count), "peak": _peak()}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
