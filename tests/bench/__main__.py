"""Measure, and print a table."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from . import (
    apiserver,
    cancel,
    clientgo,
    controller,
    failing,
    idle,
    imports,
    informer,
    latency,
    lines,
    machine,
    report,
    scan,
    streams,
    throughput,
    workqueue,
)
from .children import DIRECT
from .server import serving

SECTIONS: dict[str, Callable[[report.Settings, str], Iterator[report.Figure]]] = {
    module.SECTION: module.measure
    for module in (
        throughput,
        scan,
        informer,
        clientgo,
        workqueue,
        controller,
        lines,
        cancel,
        idle,
        imports,
        streams,
        latency,
        failing,
        apiserver,
    )
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="in half a minute, only to see that it works")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="this section (may be repeated)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the same figures there")
    options = parser.parse_args(arguments)
    os.environ.update(DIRECT)
    about = machine.describe()
    print(*report.header(about), sep="\n", flush=True)
    figures = measure(options.only or list(SECTIONS), report.Settings(options.quick))
    print("", *report.table(figures), sep="\n")
    if options.json:
        document = {"machine": about, "quick": options.quick, "figures": [figure.as_json() for figure in figures]}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def measure(names: Sequence[str], settings: report.Settings) -> list[report.Figure]:
    """The figures of these sections; each is told on stderr when it begins, for some take minutes."""
    figures: list[report.Figure] = []
    with serving() as url:
        for name in names:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            figures += SECTIONS[name](settings, url)
    return figures


if __name__ == "__main__":
    main()
