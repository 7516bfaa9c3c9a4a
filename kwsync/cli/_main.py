"""The commands together: what is called, and how each end becomes an exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from kwsync import __version__
from kwsync.cli._auth_command import auth
from kwsync.cli._demo_command import demo
from kwsync.cli._errors import MEANINGS, CommandError, ExitCode, ReaderGone
from kwsync.cli._events_command import events
from kwsync.cli._output import silence
from kwsync.cli._serve_command import serve
from kwsync.cli._verbose import tell, tell_failure
from kwsync.cli._watch_command import watch

_EPILOG = "\b\nExit codes:\n" + "\n".join(f"{code:5d}  {meaning}" for code, meaning in MEANINGS.items())


class _Interrupted(Exception):
    """Ctrl-C, which click would make something else of."""


class _Commands(click.Group):
    """Two ends that click has plans of its own for are handed on as they are."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments, and write the help where they ask for it."""
        with _as_they_are():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _as_they_are():
            return super().invoke(ctx)


@contextmanager
def _as_they_are() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise _Interrupted from None
    except BrokenPipeError:
        raise ReaderGone from None


@click.group(
    cls=_Commands,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,  # what click does by itself differs from version to version
)
@click.version_option(__version__, prog_name="kwsync", message="%(prog)s %(version)s")
@click.pass_context
def commands(context: click.Context) -> ExitCode:
    """Kubernetes watches on the command line."""
    if context.invoked_subcommand is None:
        tell(f"{context.get_help()}\n")
        return ExitCode.USAGE
    return ExitCode.DONE


for _command in (watch, events, auth, demo, serve):
    _command.epilog = "Exit codes: see kwsync --help."
    commands.add_command(_command)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    try:
        code = commands.main(list(sys.argv[1:] if arguments is None else arguments), "kwsync", standalone_mode=False)
        return code if isinstance(code, int) else ExitCode.DONE  # --help and --version give theirs
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "kwsync"
        tell_failure(f"{error.format_message().rstrip('.')}: see {command} --help")
        return ExitCode.USAGE
    except CommandError as error:
        tell_failure(str(error))
        return error.code
    except ReaderGone:
        silence(sys.stdout)
        return ExitCode.READER_GONE
    except OSError as error:
        silence(sys.stdout)
        tell_failure(f"the system does not allow it: {error}: see what is short (disk, memory, open files)")
        return ExitCode.FAILED
    except (_Interrupted, click.Abort):
        return ExitCode.INTERRUPTED
