"""``kwsync serve``."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack

import click

from kwsync import CancelToken
from kwsync.cli._errors import CommandError, ExitCode
from kwsync.cli._options import verbose_option
from kwsync.cli._output import Output
from kwsync.cli._server import happening, running_server
from kwsync.cli._text import escaped
from kwsync.cli._verbose import telling


@click.command("serve", short_help="Run a Kubernetes API server in memory.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; default: any that is free.")
@click.option("--kubeconfig", "path", metavar="FILE", help="Write the kubeconfig there, not to standard output.")
@click.option("--demo", "lively", is_flag=True, help="With the workload of kwsync demo.")
@verbose_option
def serve(port: int, path: str | None, lively: bool, verbosity: int) -> None:
    """Run a Kubernetes API server in memory on 127.0.0.1, and write a kubeconfig for it, until Ctrl-C.

    It knows the kinds of Kubernetes and learns others from CustomResourceDefinitions; it runs nothing. kubectl and
    every client can talk to it.
    """
    output = Output()
    with telling(verbosity), ExitStack() as stack:
        server = stack.enter_context(running_server(port))
        if lively:
            stack.enter_context(happening(server))
        config = json.dumps(server.kubeconfig(), indent=2)
        if path is None:
            output.write([config])
        else:
            write_kubeconfig(path, config)
        advice = f"; try: kwsync watch pods --kubeconfig {escaped(path)}" if path else ""
        sys.stderr.write(f"kwsync: serving {server.url}{advice}\n")
        sys.stderr.flush()
        CancelToken().wait()  # for Ctrl-C


def write_kubeconfig(path: str, config: str) -> None:
    """Write it; `CommandError` rather than lose a kubeconfig that is not ours."""
    try:
        if os.path.exists(path) and not _is_ours(path):
            sentence = f"{path} is there already, and none of kwsync serve: name another file, or delete it"
            raise CommandError(sentence, ExitCode.USAGE)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{config}\n")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}: name another file", ExitCode.FAILED) from None


def _is_ours(path: str) -> bool:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except ValueError:
        return False
    names = [one.get("name") for one in found["clusters"]] if isinstance(found, dict) and "clusters" in found else []
    return names == ["kwsync"]
