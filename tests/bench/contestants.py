"""Who reads the feed, each in a process of its own: ``NAME URL COUNT``; a line of input starts a round."""

from __future__ import annotations

import importlib
import itertools
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

Round = Callable[[], int]
"""Reads the whole feed and tells how many events came."""


class Contestant(NamedTuple):
    """How to make the reader of a URL that gives so many events, and what it takes."""

    make: Callable[[str, int], Round]
    needs: tuple[str, ...] = ()
    """Packages that have to be installed."""
    without: tuple[str, ...] = ()
    """Modules that it must not find, so that kwsync takes another parser."""
    slow: bool = False
    """Milliseconds an event: it gets fewer of them."""


def _floor(url: str, module: str, function: str) -> Round:
    """The least that anybody has to do: urllib3's ``stream()``, a split, and ``loads``."""
    loads = getattr(importlib.import_module(module), function)
    pool = importlib.import_module("urllib3").PoolManager()

    def run() -> int:
        response = pool.request("GET", f"{url}/api/v1/pods", preload_content=False)
        count, rest = 0, b""
        for piece in response.stream():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                loads(line)
                count += 1
        response.release_conn()
        return count

    return run


def _kwsync(url: str, parser: str) -> Round:
    kwsync = importlib.import_module("kwsync")
    used = importlib.import_module("kwsync._json")._load_parser()
    if used != parser:
        raise RuntimeError(f"kwsync has chosen {used} instead of {parser}")
    credentials = importlib.import_module("kwsync.credentials")
    client = kwsync.Client(kwsync.Cluster(url), credentials.Anonymous())
    return lambda: _count(kwsync.watch_resource("pods", client=client))


def _kubernetes(url: str, **options: Any) -> Round:
    kubernetes = importlib.import_module("kubernetes")
    configuration = kubernetes.client.Configuration()
    configuration.host = url
    pods = kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(configuration)).list_pod_for_all_namespaces
    # Without timeout_seconds it would connect again at the end.
    return lambda: _count(kubernetes.watch.Watch().stream(pods, timeout_seconds=600, **options))


def _lightkube(url: str, count: int) -> Round:
    lightkube = importlib.import_module("lightkube")
    pod = importlib.import_module("lightkube.resources.core_v1").Pod
    models = importlib.import_module("lightkube.config.models")
    config = lightkube.KubeConfig.from_one(cluster=models.Cluster(server=url), user=models.User())
    client = lightkube.Client(config=config, trust_env=False)
    # It connects again at the end, so it must be stopped before.
    return lambda: _count(itertools.islice(client.watch(pod, namespace="*"), count))


def _count(events: Iterable[object]) -> int:
    count = 0
    for _ in events:
        count += 1
    return count


CONTESTANTS = {
    "floor, orjson": Contestant(lambda url, count: _floor(url, "orjson", "loads"), ("orjson",)),
    "kwsync, orjson": Contestant(lambda url, count: _kwsync(url, "orjson"), ("orjson",)),
    "floor, msgspec": Contestant(lambda url, count: _floor(url, "msgspec.json", "decode"), ("msgspec",)),
    "kwsync, msgspec": Contestant(lambda url, count: _kwsync(url, "msgspec"), ("msgspec",), ("orjson",)),
    "floor, json": Contestant(lambda url, count: _floor(url, "json", "loads")),
    "kwsync, json": Contestant(lambda url, count: _kwsync(url, "json"), (), ("orjson", "msgspec")),
    "kubernetes, models": Contestant(lambda url, count: _kubernetes(url), ("kubernetes",), slow=True),
    "kubernetes, dicts": Contestant(lambda url, count: _kubernetes(url, deserialize=False), ("kubernetes",)),
    "lightkube": Contestant(_lightkube, ("lightkube",)),
}


def main(name: str, url: str, count: int) -> None:
    """Answer each line with the microseconds per event of one round: by the clock, and of the processor."""
    contestant = CONTESTANTS[name]
    for module in contestant.without:
        sys.modules[module] = None  # type: ignore[assignment]  # as the import system says that there is none
    run = contestant.make(url, count)
    for _ in sys.stdin:
        start = time.perf_counter(), time.process_time()
        seen = run()
        end = time.perf_counter(), time.process_time()
        if seen != count:
            raise RuntimeError(f"{name} has read {seen} events instead of {count}")
        print(*((after - before) / count * 1e6 for before, after in zip(start, end, strict=True)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
