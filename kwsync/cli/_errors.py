"""What goes wrong, as one sentence that tells what to do, and as an exit code. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from urllib.parse import urlsplit

from kwsync import Client, ErrorOrigin, Resource, WatchError
from kwsync.cli._documents import plural_of


class ExitCode(IntEnum):
    """How the command ended."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    CONFIG = 3
    UNREACHABLE = 4
    REFUSED = 5
    NO_SUCH_KIND = 6
    INTERRUPTED = 130
    READER_GONE = 141


MEANINGS = {
    ExitCode.DONE: "ended as it was told to (--timeout, --seconds)",
    ExitCode.FAILED: "something else went wrong, or the answers are not those of a Kubernetes API",
    ExitCode.USAGE: "bad arguments, or a selector that the server refuses",
    ExitCode.CONFIG: "no kubeconfig, or one that cannot be used",
    ExitCode.UNREACHABLE: "no connection to the server when it started, or a certificate that cannot be trusted",
    ExitCode.REFUSED: "the server does not accept the credential (401) or does not allow this (403)",
    ExitCode.NO_SUCH_KIND: "the server has no such kind of objects",
    ExitCode.INTERRUPTED: "ended by Ctrl-C",
    ExitCode.READER_GONE: "whoever read the output has gone (as in `kwsync watch pods | head -1`)",
}
"""The documented exit codes."""


class CommandError(Exception):
    """Ends the command with a sentence and an exit code."""

    def __init__(self, sentence: str, code: ExitCode) -> None:
        super().__init__(sentence)
        self.code = code


class ReaderGone(Exception):
    """Nobody reads standard output any more."""


def location(client: Client) -> str:
    """The server's address without a password."""
    parts = urlsplit(client.cluster.server)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def brief(error: WatchError) -> str:
    """What happened, without advice: for errors that are waited out."""
    if error.status_code:
        head = f"{error.status_code} {error.reason}".rstrip()
        return f"{head}: {error.message}" if error.message else head
    return error.message or str(error.origin)


def explain(error: WatchError, client: Client, resource: Resource | str) -> CommandError:
    """The sentence for an error that ends the command."""
    if error.origin is ErrorOrigin.CONFIG:
        return _configuration(error)
    if error.status_code:
        return _answer(error, client, resource)
    if error.origin is ErrorOrigin.NETWORK:
        return CommandError(_network(error, location(client)), ExitCode.UNREACHABLE)
    if error.origin is ErrorOrigin.TIMEOUT:
        sentence = f"{location(client)} does not answer: check network, VPN and proxy settings"
        return CommandError(sentence, ExitCode.UNREACHABLE)
    sentence = f"{location(client)} does not answer as a Kubernetes API ({error.message}): check the server's address"
    return CommandError(sentence, ExitCode.FAILED)


def _configuration(error: WatchError) -> CommandError:
    if error.status_code == 404:
        advice = "check the spelling (plural, singular, kind or short name, maybe with .group behind it)"
        return CommandError(f"{error.message}: {advice}", ExitCode.NO_SUCH_KIND)
    if error.status_code == 400:
        return CommandError(error.message, ExitCode.USAGE)
    if error.status_code == 401:
        return CommandError(f"{error.message}: repair the user's entry in the kubeconfig", ExitCode.CONFIG)
    return CommandError(f"{error.message}: repair the kubeconfig", ExitCode.CONFIG)


def _answer(error: WatchError, client: Client, resource: Resource | str) -> CommandError:
    code = error.status_code
    if code == 401:
        advice = "log in again, or renew the token or client certificate in the kubeconfig"
        return CommandError(f"{location(client)} does not accept your credential (401): {advice}", ExitCode.REFUSED)
    if code == 403:
        advice = "ask for the rights to list and watch, or name a namespace of yours with -n"
        return CommandError(f"you may not do this (403): {brief_message(error)}: {advice}", ExitCode.REFUSED)
    if code == 404:
        advice = "check the spelling, and that the server is the one you mean"
        return CommandError(f"{location(client)} has no {_named(resource)} (404): {advice}", ExitCode.NO_SUCH_KIND)
    if code == 406:
        sentence = f"the server prints no tables of {_named(resource)} (406): try -o name or -o json"
        return CommandError(sentence, ExitCode.FAILED)
    if code in (400, 422):
        advice = "correct the selectors"
        return CommandError(f"the server refuses this ({code}): {brief_message(error)}: {advice}", ExitCode.USAGE)
    if code == 429 or code >= 500:
        return CommandError(f"{location(client)} is in trouble: {brief(error)}: try again later", ExitCode.FAILED)
    return CommandError(f"the server refuses this: {brief(error)}", ExitCode.FAILED)


def _named(resource: Resource | str) -> str:
    return resource if isinstance(resource, str) else plural_of(resource)


def brief_message(error: WatchError) -> str:
    """The server's words."""
    return error.message.rstrip(".: ") or error.reason or "without a reason"


_ADVICE = {
    "ConnectionRefusedError": "it is refused: check that the cluster runs, and the server's address in the kubeconfig",
    "gaierror": "the name of its host is not known: check the server's address in the kubeconfig, and your network",
}


def _network(error: WatchError, server: str) -> str:
    causes = {type(cause).__name__ for cause in _causes(error)}
    if "SSLCertVerificationError" in causes:
        advice = "renew the server's certificate, or set the right certificate-authority in the kubeconfig"
        if "expired" in error.message:
            advice = "renew the server's certificate, and check this machine's clock"
        return f"no trust in {server}: {error.message}: {advice}"
    for cause, advice in _ADVICE.items():
        if cause in causes:
            return f"no connection to {server}: {advice}"
    return f"no connection to {server}: {error.message}: check network, VPN and proxy settings"


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    below: BaseException | None = error
    while below is not None and id(below) not in seen:
        seen.add(id(below))
        yield below
        below = below.__cause__ or below.__context__
