"""Who runs a plugin, when, and for whom."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import weakref
from collections.abc import Iterable, Mapping
from functools import partial

import attrs

from kwsync._cluster import Cluster
from kwsync.credentials._cached import INTERVAL_SECONDS, Cached, Issued
from kwsync.credentials._describe import CredentialDescription
from kwsync.credentials._exec._answer import read_answer
from kwsync.credentials._exec._info import VARIABLE, Place, exec_info, place_of, told_of
from kwsync.credentials._exec._program import run_program
from kwsync.credentials._exec._settings import (
    ALWAYS,
    IF_AVAILABLE,
    MODES,
    NEVER,
    VERSIONS,
    Settings,
    as_arguments,
    as_command,
    as_environment,
    as_hint,
    as_json,
    check_choice,
)
from kwsync.credentials._fields import check_seconds
from kwsync.credentials._files import read_secret
from kwsync.credentials._protocol import AuthContext, Authorization, CredentialError

TIMEOUT_SECONDS = 60.0


class ExecPlugin:
    """What a program gives that speaks ``client.authentication.k8s.io``: a token, a client certificate, or both.

    Args:
        command: a name that is searched in PATH, or a path; a relative one begins at the working directory (a
            kubeconfig's begins at its folder).
        args: what it is called with.
        env: variables beside those of this process.
        api_version: ``client.authentication.k8s.io/v1`` or ``…/v1beta1``.
        interactive_mode: ``Never``, ``IfAvailable`` (it gets standard input where that is a terminal) or ``Always``
            (without a terminal it is not run).
        provide_cluster_info: tell it which cluster it is for, certificate authority included.
        cluster_config: any JSON, told with the cluster.
        install_hint: how to get the program; the error says it when the program is missing.
        timeout: seconds for one run without a terminal, None for no limit; then it and all that it has started are
            killed. With a terminal somebody may have to log in, so there is no limit, and Ctrl-C reaches the program.
        interval: seconds from one run to the next at the earliest.

    Runs are made by a `Cached`: on a thread of its own, one at a time; the answer is kept until 10 seconds before its
    ``expirationTimestamp``, or without one until a 401. All objects with equal arguments share one, in the whole
    process. Who is cancelled stops waiting at once; the program runs on, and what it gives is kept for the next who
    asks. Its standard error is that of this process; its standard output is never shown. ValueError and TypeError for
    bad arguments; CredentialError, at the request, for a program that is missing, fails, or answers badly.

    A certificate and a key that are no pair count as a 401.

    Source: Kubernetes, "client-go credential plugins", and client-go's ``plugin/pkg/client/auth/exec``; that one waits
    for a program without limit, uses a token until its very end, and gives the first 401 to its caller.
    """

    def __init__(
        self,
        command: str,
        *,
        args: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
        api_version: str = VERSIONS[0],
        interactive_mode: str = IF_AVAILABLE,
        provide_cluster_info: bool = False,
        cluster_config: object = None,
        install_hint: str | None = None,
        timeout: float | None = TIMEOUT_SECONDS,
        interval: float = INTERVAL_SECONDS,
    ) -> None:
        self._settings = Settings(
            as_command(command),
            as_arguments(args),
            as_environment(env),
            check_choice(api_version, VERSIONS, "apiVersion"),
            check_choice(interactive_mode, MODES, "interactiveMode"),
            as_json(cluster_config),
            bool(provide_cluster_info),
            as_hint(install_hint),
            None if timeout is None else check_seconds(timeout, "timeout"),
            check_seconds(interval, "interval", zero=True),
        )
        self._used: dict[Place | None, Cached] = {}

    def __repr__(self) -> str:
        return f"ExecPlugin({self._settings.command!r})"

    def authorize(self, context: AuthContext) -> Authorization:
        """What the last run gave, or after waiting a new one."""
        return self._cached_for(context.cluster).authorize(context)

    def refresh(self, rejected: Authorization) -> bool:
        """Let the next request run the plugin again, unless it has run since, or a moment ago."""
        # Whoever has not given the rejected one says True: those of other clusters, too.
        answers = [cached.refresh(rejected) for cached in list(self._used.values())]
        return all(answers)

    def describe(self) -> CredentialDescription:
        """The last answer, or why there is none; the plugin is not run."""
        descriptions = [cached.describe() for cached in list(self._used.values())]
        last = descriptions[-1] if descriptions else CredentialDescription(kind="")
        return attrs.evolve(last, kind="exec plugin", source=self._settings.command)

    def _cached_for(self, cluster: Cluster) -> Cached:
        place = place_of(cluster) if self._settings.provides_cluster else None
        cached = self._used.get(place)
        if cached is None:
            cached = self._used[place] = _shared_by_all(self._settings, place)
        return cached


_shared: weakref.WeakValueDictionary[tuple[Settings, Place | None], Cached] = weakref.WeakValueDictionary()
_sharing = threading.RLock()  # reentrant: should a signal handler come in between, there are two, and no harm


def _shared_by_all(settings: Settings, place: Place | None) -> Cached:
    with _sharing:
        cached = _shared.get((settings, place))
        if cached is None:
            name = f"exec-plugin-{os.path.basename(settings.command)}"
            # Without a bound for who waits: a run has its timeout, and where somebody logs in, it may take minutes.
            cached = Cached(partial(_issue, settings, place), name=name, interval=settings.interval, patience=None)
            _shared[settings, place] = cached
        return cached


def _forget_after_fork() -> None:
    global _sharing
    _sharing = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def _issue(settings: Settings, place: Place | None) -> Issued:
    """One run, from the search for the program to its answer."""
    try:
        interactive = _is_interactive(settings.interactive_mode)
        return read_answer(_run(settings, place, interactive), settings.api_version)
    except CredentialError as error:
        problem = str(error)
    raise CredentialError(f"{settings.label} {problem}")


def _run(settings: Settings, place: Place | None, interactive: bool) -> bytes:
    arguments = [_found(settings), *settings.arguments]
    told = exec_info(settings.api_version, interactive, None if place is None else _told(settings, place))
    environment = {**os.environ, **dict(settings.environment), VARIABLE: told}
    timeout = None if interactive else settings.timeout
    try:
        code, output = run_program(arguments, environment, interactive=interactive, timeout=timeout)
    except OSError as error:
        raise CredentialError(f"cannot be run: {error.strerror}{settings.advice}") from None
    except ValueError:  # whose text may show it
        raise CredentialError("cannot be run: an argument or a variable holds what no program can be told") from None
    if code != 0:
        how = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
        raise CredentialError(f"{how}; what it has to say is on standard error")
    return output


def _found(settings: Settings) -> str:
    found = shutil.which(settings.command)
    if found is None:
        raise CredentialError(f"is not there, or no program{settings.advice}")
    return found


def _told(settings: Settings, place: Place) -> dict[str, object]:
    authority = place.ca_data if place.ca_file is None else read_secret(place.ca_file)
    return told_of(place, authority, settings.cluster_config)


def _is_interactive(mode: str) -> bool:
    if mode == NEVER:
        return False
    available = _has_terminal()
    if mode == ALWAYS and not available:
        raise CredentialError("needs a terminal (interactiveMode is Always), and standard input is none")
    return available


def _has_terminal() -> bool:
    """Is standard input a terminal, and ours? A process in its background is stopped when it reads."""
    try:
        if not os.isatty(0):
            return False
        return sys.platform == "win32" or os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return True  # a terminal without jobs
