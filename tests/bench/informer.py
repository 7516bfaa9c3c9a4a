"""The informer: memory of what it keeps, of reading it anew, and how fast events reach a handler that looks at none."""

from __future__ import annotations

import gc
import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kwsync import Backoff, Informer

from .children import Child, running
from .clients import client_for
from .imported import resident_mib
from .listing import FIRST_VERSION
from .machine import version_of
from .report import Figure, Settings, at_least, at_most

SECTION = "informer"
LIMIT_SECONDS = 120.0
SHARES = (0, 10, 100)
SLACK_MIB = 10.0
IDLE = 200


def measure(settings: Settings, url: str) -> Iterator[Figure]:
    """Memory by what the system counts for the process; times as ratios to the floor, in turns."""
    yield from _memory(settings.pick(50_000, 500))
    yield from _compressed(settings.pick(50_000, 5000), settings.pick(9, 1))
    yield from _speed(settings.pick(20_000, 200), settings.pick(5, 1))
    yield from _idle(settings.pick(IDLE, 5), settings.pick(30, 1))


def _memory(count: int) -> Iterator[Figure]:
    if sys.platform != "linux":
        yield Figure(SECTION, "memory of an object", None, note="skipped: measured on Linux only")
        return
    with running("listing", str(count), "0") as server, running("informer", "keep", server.hear()) as child:
        mib, raw, seconds = map(float, child.hear().split())
        details = {"objects": count, "bytes of JSON": raw / count}
        yield Figure(SECTION, "memory of an object", mib * 2**20 / count, "bytes", at_most(4700), details)
        yield Figure(SECTION, "first list", seconds * 1e6 / count, "us/object", None, {"objects": count})
        for share in SHARES:
            yield from _relist(server, child, count, share, raw / count)


def _compressed(count: int, rounds: int) -> Iterator[Figure]:
    if version_of("zstandard") is None or sys.platform != "linux":
        yield Figure(SECTION, "memory of an object, compressed", None, note="skipped: needs zstandard, and Linux")
        return
    with running("listing", str(count), "0") as server, running("informer", "keep", server.hear(), "compress") as child:
        mib, raw, seconds = map(float, child.hear().split())
        details = {"objects": count, "bytes of JSON": raw / count}
        yield Figure(SECTION, "memory of an object, compressed", mib * 2**20 / count, "bytes", at_most(1000), details)
        yield Figure(SECTION, "first list, compressed", seconds * 1e6 / count, "us/object", None, {"objects": count})
    with running("listing", str(count // 10), "0") as server, running("informer", "get", server.hear()) as child:
        times = [_ask(child) for _ in range(rounds)]
    plain, packed = (min(column) * 1e6 for column in zip(*times, strict=True))
    yield Figure(SECTION, "get() compressed : not", packed / plain, "x", at_most(1.5), {"us": packed, "us not": plain})


def _relist(server: Child, child: Child, count: int, share: int, size: float) -> Iterator[Figure]:
    child.say("peak")
    child.hear()
    server.ask(f"relist {share}")
    mib, seconds, processor = map(float, child.hear().split())
    changed = count * share / 100 * size / 2**20
    details = {"changed objects": changed, "allowed": changed + SLACK_MIB}
    name = f"list read anew, {share} % changed"
    yield Figure(SECTION, f"{name}: peak above steady", mib, "MiB", at_most(changed + SLACK_MIB), details)
    yield Figure(
        SECTION,
        f"{name}: time",
        processor * 1e6 / count,
        "us/object",
        at_most(15),
        {"by the clock": seconds * 1e6 / count},
    )


def _speed(count: int, rounds: int) -> Iterator[Figure]:
    if version_of("msgspec") is None:
        yield Figure(SECTION, "events through an informer", None, note="skipped: msgspec not installed")
        return
    with running("listing", "0", str(count)) as server:
        port = server.hear()
        with (
            running("informer", "floor", port, str(count)) as floor,
            running("informer", "handle", port, str(count)) as ours,
        ):
            times = [(_ask(floor), _ask(ours)) for _ in range(rounds + 1)][1:]
    clock = [(one[0], other[0]) for one, other in times]
    processor = [(one[1], other[1]) for one, other in times]
    ratios = [one / other for one, other in clock]
    details = {"least": min(ratios), "most": max(ratios), "processor": _best(processor), "events": count}
    yield Figure(SECTION, "events/s, floor", count / min(one for one, _ in clock), "1/s")
    yield Figure(SECTION, "events/s, informer and handler", count / min(other for _, other in clock), "1/s")
    yield Figure(SECTION, "informer : floor", _best(clock), "x", at_least(0.5), details)


def _ask(child: Child) -> list[float]:
    """Seconds by the clock, and of the processor."""
    return [float(word) for word in child.ask().split()]


def _best(times: list[tuple[float, float]]) -> float:
    return min(one for one, _ in times) / min(other for _, other in times)


def _idle(informers: int, seconds: int) -> Iterator[Figure]:
    arguments = str(informers), str(seconds)
    with running("listing", "10", "0") as server, running("informer", "idle", server.hear(), *arguments) as child:
        threads, mib, processor, switches = map(float, child.hear().split())
    details = {"informers": informers, "seconds": seconds}
    yield Figure(SECTION, "threads of an informer with one handler", threads / informers, "", at_most(2), details)
    yield Figure(SECTION, "memory of an informer of ten pods", mib * 1024 / informers, "KiB", None, details)
    yield Figure(SECTION, "processor while idle", processor / seconds * 100, "%", None, details)
    yield Figure(SECTION, "context switches while idle", switches / seconds, "1/s", None, details)


# In processes of their own


@contextmanager
def _informer(port: str, **options: Any) -> Iterator[Informer]:
    with client_for(f"http://127.0.0.1:{port}") as client:
        informer = Informer("pods", client=client, backoff=Backoff(initial=0), timeout_seconds=3600, **options)
        with informer:
            assert informer.wait_synced(LIMIT_SECONDS), informer.status
            yield informer


def _settled() -> float:
    gc.collect()
    return resident_mib()


def keep(port: str, compress: str = "") -> None:
    """Print MiB of the cache, bytes of JSON, and seconds; then for each line the peak of the next list."""
    empty = Informer("pods", compress=bool(compress))
    del empty
    with _informer(port, namespace="none-but-warm"):
        pass
    before, start = _settled(), time.perf_counter()
    with _informer(port, compress=bool(compress)) as informer:
        seconds = time.perf_counter() - start
        raw = sum(len(record.raw) for record in informer._cache.records())
        print(_settled() - before, raw, seconds, flush=True)
        handler = informer.add_handler(*(lambda event: None,) * 3)
        assert handler.wait_synced(LIMIT_SECONDS)
        for _ in sys.stdin:
            _measure_relist(informer)


def _measure_relist(informer: Informer) -> None:
    relists = informer.status.relists
    steady = _settled()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    print("ready", flush=True)
    start, processor = time.perf_counter(), time.process_time()
    pause = threading.Event()
    while informer.status.relists == relists:
        pause.wait(0.01)
    seconds, used = time.perf_counter() - start, time.process_time() - processor
    print(_peak_mib() - steady, seconds, used, flush=True)


def _peak_mib() -> float:
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))


def get(port: str) -> None:
    """Print for each line the processor seconds of one get(): of what is kept as it is, and of what is compressed."""
    with _informer(port) as plain, _informer(port, compress=True) as packed:
        keys = plain.store.keys()
        for _ in sys.stdin:
            print(*(_seconds_to_get(informer, keys) for informer in (plain, packed)), flush=True)


def _seconds_to_get(informer: Informer, keys: list[Any]) -> float:
    store, start = informer.store, time.thread_time()
    for key in keys:
        store.get(key)
    return (time.thread_time() - start) / len(keys)


def floor(port: str, count: str) -> None:
    """The least that an informer has to do: split, find the object's bytes, read its metadata."""
    _rounds(_floor(port, int(count)))


def _floor(port: str, count: int) -> Callable[[], float]:
    urllib3, msgspec = importlib.import_module("urllib3"), importlib.import_module("msgspec")
    metadata = msgspec.defstruct("Metadata", [(name, str) for name in ("name", "namespace", "uid", "resourceVersion")])
    line = msgspec.json.Decoder(msgspec.defstruct("Line", [("type", str), ("object", msgspec.Raw)]))
    named = msgspec.json.Decoder(msgspec.defstruct("Named", [("metadata", metadata)]))
    pool = urllib3.PoolManager()

    def run() -> float:
        response = pool.request("GET", f"http://127.0.0.1:{port}/api/v1/pods?watch=true", preload_content=False)
        start, seen, rest = time.perf_counter(), 0, b""
        for piece in response.stream():
            *lines, rest = (rest + piece).split(b"\n")
            for each in lines:
                if seen < count:
                    named.decode(line.decode(each).object)
                seen += 1
            if seen > count:
                break
        seconds = time.perf_counter() - start
        response.close()
        return seconds

    return run


def handle(port: str, count: str) -> None:
    """From the end of the list until the handler has been told of everything."""

    def run() -> float:
        told = threading.Event()
        last = str(FIRST_VERSION + int(count) - 1)

        def note(event: Any) -> None:
            if event.resource_version == last:
                told.set()

        with client_for(f"http://127.0.0.1:{port}") as client:
            informer = Informer("pods", client=client, timeout_seconds=3600)
            informer.add_handler(note, note, note)
            with informer:
                assert informer.wait_synced(LIMIT_SECONDS)
                start = time.perf_counter()
                assert told.wait(LIMIT_SECONDS)
                return time.perf_counter() - start

    _rounds(run)


def _rounds(run: Callable[[], float]) -> None:
    for _ in sys.stdin:
        gc.collect()
        processor = time.process_time()
        print(run(), time.process_time() - processor, flush=True)


def idle(port: str, informers: str, seconds: str) -> None:
    """Print threads, MiB, processor seconds and context switches of many informers while nothing happens."""
    resource = importlib.import_module("resource")
    before, threads = _settled(), threading.active_count()
    with client_for(f"http://127.0.0.1:{port}") as client:
        made = [Informer("pods", client=client, timeout_seconds=3600) for _ in range(int(informers))]
        handlers = [informer.add_handler(lambda event: None) for informer in made]
        for informer in made:
            informer.start()
        assert all(handler.wait_synced(LIMIT_SECONDS) for handler in handlers)
        pause = threading.Event()
        while not all(informer.healthy() for informer in made):
            pause.wait(0.01)
        mib, threads = _settled() - before, threading.active_count() - threads
        usage, processor = resource.getrusage(resource.RUSAGE_SELF), time.process_time()
        time.sleep(float(seconds))
        now = resource.getrusage(resource.RUSAGE_SELF)
        switches = now.ru_nvcsw + now.ru_nivcsw - usage.ru_nvcsw - usage.ru_nivcsw
        print(threads, mib, time.process_time() - processor, switches, flush=True)
        for informer in made:
            informer.stop()
        assert all(informer.join(LIMIT_SECONDS) for informer in made)


if __name__ == "__main__":
    roles: dict[str, Callable[..., None]] = {"keep": keep, "get": get, "floor": floor, "handle": handle, "idle": idle}
    roles[sys.argv[1]](*sys.argv[2:])
