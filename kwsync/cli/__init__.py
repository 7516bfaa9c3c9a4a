"""The command line: ``kwsync watch``, ``events``, ``auth``, ``serve`` and ``demo``; it needs the extra ``kwsync[cli]``.

From the ground up: ``_text`` and ``_colour`` (what may go to a terminal), ``_documents`` (what is in an object),
``_times`` (moments and ages), ``_table``, ``_formats``, ``_event_lines`` and ``_diff`` (events to lines), ``_jsonpath``
and ``_until`` (states to wait for), ``_errors`` (sentences and exit codes), ``_output`` and ``_verbose`` (standard
output and error), ``_follow`` (one kind, for ever), ``_gather`` (several at once), ``_printer`` (what is printed when),
``_names`` and ``_options`` (what the arguments mean), ``_identity`` (as whom), and the commands.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kwsync import _starting

__all__ = ["main"]

_EXTRA = ("click", "yaml")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with *arguments* (None: the process's own); the exit code, see ``kwsync --help``."""
    try:
        _starting.loud()
        from kwsync.cli._main import run

        return run(arguments)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        sys.stderr.write('kwsync: the command line needs some more packages: pip install ".[cli]" in a checkout\n')
        return 1
    except KeyboardInterrupt:  # while the modules are loaded, or for the second time while it ends
        return _starting.INTERRUPTED
