"""``kwsync serve``."""

from __future__ import annotations

import json
import os
import shlex
import stat
from contextlib import ExitStack

import click

from kwsync import CancelToken
from kwsync.cli._documents import mapping, objects
from kwsync.cli._errors import CommandError, ExitCode
from kwsync.cli._options import verbose_option
from kwsync.cli._output import Output
from kwsync.cli._server import happening, running_server
from kwsync.cli._text import escaped
from kwsync.cli._verbose import tell, telling

_LARGEST = 1024 * 1024
"""Bytes; the kubeconfig of kwsync serve has some hundred."""


def _check_port(_context: click.Context, _parameter: click.Parameter, value: str) -> int:
    if value.isascii() and value.isdigit() and int(value[:6]) <= 65535:
        return int(value)
    raise click.BadParameter(f"{value!r} is no port: give a number from 0 (any that is free) to 65535")


def _check_path(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.BadParameter("it is empty: name a file, or leave the option out")
    return os.path.expanduser(value) if value and value.startswith("~/") else value


@click.command("serve", short_help="Run a Kubernetes API server in memory.")
@click.option("--port", callback=_check_port, default="0", metavar="PORT", help="The port; default: any that is free.")
@click.option(
    "--kubeconfig",
    "path",
    callback=_check_path,
    metavar="FILE",
    help="Write the kubeconfig there, not to standard output.",
)
@click.option("--demo", "lively", is_flag=True, help="With the workload of kwsync demo.")
@verbose_option
def serve(port: int, path: str | None, lively: bool, verbosity: int) -> None:
    """Run a Kubernetes API server in memory on 127.0.0.1, and write a kubeconfig for it, until Ctrl-C.

    It knows the kinds of Kubernetes and learns others from CustomResourceDefinitions; it runs nothing. kubectl and
    other clients can talk to it in JSON; "kubectl create KIND" sends protobuf, and is refused: say "create -f".
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
        advice = f"; try: kwsync watch pods --kubeconfig {escaped(shlex.quote(path))}" if path else ""
        tell(f"kwsync: serving {server.url}{advice}\n")
        CancelToken().wait()  # for Ctrl-C


def write_kubeconfig(path: str, config: str) -> None:
    """Write it; `CommandError` rather than lose a kubeconfig that is not ours."""
    try:
        if os.path.exists(path) and not _may_be_lost(path):
            sentence = f"{path} is there already, and none of kwsync serve: name another file, or delete it"
            raise CommandError(sentence, ExitCode.USAGE)
        with open(path, "w", encoding="utf-8", opener=_open_for_owner) as file:
            file.write(f"{config}\n")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}: name another file", ExitCode.FAILED) from None


def _open_for_owner(path: str, flags: int) -> int:
    """Kubeconfigs hold tokens."""
    return os.open(path, flags, 0o600)


def _may_be_lost(path: str) -> bool:
    """Whether it is an empty file, as ``mktemp`` makes, or a kubeconfig of an earlier kwsync serve. A folder is left to
    the system to complain of; a device or a pipe may have no end to read to.
    """
    found = os.stat(path)
    if stat.S_ISDIR(found.st_mode):
        return True
    return stat.S_ISREG(found.st_mode) and (found.st_size == 0 or _is_ours(path))


def _is_ours(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            document = json.loads(file.read(_LARGEST))
    except (ValueError, RecursionError):
        return False
    return [one.get("name") for one in objects(mapping(document).get("clusters"))] == ["kwsync"]
