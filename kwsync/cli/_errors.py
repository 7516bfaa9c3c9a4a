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
    NOT_REACHED = 7
    INTERRUPTED = 130
    READER_GONE = 141


MEANINGS = {
    ExitCode.DONE: "ended as it was told to (--timeout, --seconds, --until)",
    ExitCode.FAILED: "something else went wrong, or the answers are not those of a Kubernetes API",
    ExitCode.USAGE: "bad arguments, or a selector that the server refuses",
    ExitCode.CONFIG: "no kubeconfig, or one that cannot be used",
    ExitCode.UNREACHABLE: "no connection at the start, no state before --timeout, or a certificate not to be trusted",
    ExitCode.REFUSED: "the server does not accept the credential (401) or does not allow this (403), or a proxy (407)",
    ExitCode.NO_SUCH_KIND: "the server has no such kind of objects",
    ExitCode.NOT_REACHED: "--timeout was over before the state that --until waits for",
    ExitCode.INTERRUPTED: "ended by Ctrl-C",
    ExitCode.READER_GONE: "whoever read the output has gone (as in `kwsync watch pods | head -1`)",
}
"""The documented exit codes."""


class CommandError(Exception):
    """Ends the command with a sentence and an exit code."""

    def __init__(self, sentence: str, code: ExitCode) -> None:
        super().__init__(sentence)
        self.code = code


class TimeOver(CommandError):
    """``--timeout`` has passed, and the server has not yet told what there is."""

    def __init__(self, client: Client, done: str) -> None:
        advice = "check server, network and proxy, or give it more time"
        super().__init__(f"{location(client)} has not {done} before --timeout was over: {advice}", ExitCode.UNREACHABLE)


class ReaderGone(Exception):
    """Nobody reads standard output any more."""


def location(client: Client) -> str:
    """The server's address without a password."""
    try:
        parts = urlsplit(client.cluster.server)
    except ValueError:  # brackets that do not close, and the like
        return "the server"
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
        return _configuration(error, client.cluster.proxy_url)
    if error.status_code:
        return _answer(error, client, resource)
    if error.origin is ErrorOrigin.NETWORK:
        return CommandError(_network(error, location(client), client.cluster.proxy_url), ExitCode.UNREACHABLE)
    if error.origin is ErrorOrigin.TIMEOUT:
        if error.message.startswith("the credential "):
            return CommandError(f"{error.message}: look at the user's entry in the kubeconfig", ExitCode.CONFIG)
        sentence = f"{location(client)} does not answer: check network, VPN and proxy settings"
        return CommandError(sentence, ExitCode.UNREACHABLE)
    return _no_kubernetes(error, client, "check the server's address")


def _no_kubernetes(error: WatchError, client: Client, advice: str) -> CommandError:
    sentence = f"{location(client)} does not answer as a Kubernetes API: {brief(error)}: {advice}"
    return CommandError(sentence, ExitCode.FAILED)


def _configuration(error: WatchError, proxy_url: str | None) -> CommandError:
    if error.status_code == 404:
        advice = "check the spelling (plural, singular, kind or short name, maybe with .group behind it)"
        return CommandError(f"{error.message}: {advice}", ExitCode.NO_SUCH_KIND)
    if error.status_code == 400:
        return CommandError(error.message, ExitCode.USAGE)
    if error.status_code == 401:
        return CommandError(_credential(error.message), ExitCode.CONFIG)
    if error.message.startswith("the proxy "):
        return CommandError(f"{error.message}: correct {_proxy_setting(proxy_url)}", ExitCode.CONFIG)
    return CommandError(f"{error.message}: repair the kubeconfig", ExitCode.CONFIG)


def _credential(message: str) -> str:
    what, unsupported, _ = message.partition("which is not supported yet")
    if unsupported:
        advice = "for now, name another context with --context"
        if " gets its credential from " in what:
            advice = "for now, give the user a token (from: kubectl create token), a client certificate or a password"
        return f"{what}which kwsync does not support yet: {advice}"
    return f"{message}: repair the user's entry in the kubeconfig"


def _answer(error: WatchError, client: Client, resource: Resource | str) -> CommandError:
    code = error.status_code
    if code == 401:
        sentence = f"{location(client)} does not accept your credential (401): {LOG_IN_AGAIN}"
        return CommandError(sentence, ExitCode.REFUSED)
    if 300 <= code < 400:
        return _no_kubernetes(error, client, "check the server's address, and whether a proxy wants a login")
    if code == 403:
        advice = "ask for the rights to list and watch, or name a namespace of yours with -n"
        return CommandError(f"you may not do this (403): {brief_message(error)}: {advice}", ExitCode.REFUSED)
    if code == 407:
        return CommandError(f"the proxy refuses this (407): {_LOGIN}", ExitCode.REFUSED)
    if code == 404:
        advice = "check the spelling, and that the server is the one you mean"
        return CommandError(f"{location(client)} has no {_named(resource)} (404): {advice}", ExitCode.NO_SUCH_KIND)
    if code == 406:
        sentence = f"the server prints no tables of {_named(resource)} (406): try -o name or -o json"
        return CommandError(sentence, ExitCode.FAILED)
    if code in (400, 422):
        if any(sign in error.message.lower() for sign in _PLAIN_TO_TLS):
            return CommandError(f"{location(client)} speaks TLS alone: {_WRITE_HTTPS}", ExitCode.UNREACHABLE)
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
_PROXY_ADVICE = {
    "ConnectionRefusedError": "it refuses connections: check that it runs, and {where}",
    "gaierror": "the name of its host is not known: check {where}",
}
LOG_IN_AGAIN = "log in again, or renew the token or client certificate in the kubeconfig"
_LOGIN = "give its user and password, as in http://USER:PASSWORD@HOST:PORT"
_WRITE_HTTPS = "write https:// for http:// in the kubeconfig"

_OTHER_NAME = ("mismatch", "certificate is not valid for")
"""What OpenSSL and Python say of a certificate of another host or address."""

_PLAIN_TO_TLS = ("http request to an https server", "plain http request was sent to https port")
"""What Go and nginx answer to plain HTTP where they speak TLS."""

_TLS_TO_PLAIN = {"BadStatusLine", "ConnectionResetError", "RemoteDisconnected"}
"""What becomes of plain HTTP where TLS is spoken."""

_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG")
"""What OpenSSL says of an answer that is no TLS; which of them depends on its version and on the answer."""


def _network(error: WatchError, server: str, proxy_url: str | None) -> str:
    causes = {type(cause).__name__ for cause in _causes(error)}
    if "ProxyFault" in causes:
        return _proxy(error, causes, _proxy_setting(proxy_url))
    if "SSLCertVerificationError" in causes:
        advice = "renew the server's certificate, or set the right certificate-authority in the kubeconfig"
        if "expired" in error.message:
            advice = "renew the server's certificate, and check this machine's clock"
        elif any(sign in error.message for sign in _OTHER_NAME):
            advice = (
                "correct the server's address in the kubeconfig, or set tls-server-name to a name in the certificate"
            )
        return f"no trust in {server}: {error.message.rstrip('. ')}: {advice}"
    for cause, advice in _ADVICE.items():
        if cause in causes:
            return f"no connection to {server}: {advice}"
    if _is_no_tls(error):
        advice = "check its address in the kubeconfig, or write http:// if no encryption is meant"
        return f"no connection to {server}: it answers, but speaks no TLS: {advice}"
    advice = "check network, VPN and proxy settings"
    if server.startswith("http:") and causes & _TLS_TO_PLAIN:
        advice = f"if it speaks TLS, {_WRITE_HTTPS}"
    return f"no connection to {server}: {error.message}: {advice}"


def _proxy_setting(proxy_url: str | None) -> str:
    return "proxy-url in the kubeconfig" if proxy_url else "the variables HTTPS_PROXY and HTTP_PROXY"


def _proxy(error: WatchError, causes: set[str], where: str) -> str:
    named, _, reason = error.message.partition(": ")
    for cause, advice in _PROXY_ADVICE.items():
        if cause in causes:
            return f"no connection to {named}: {advice.format(where=where)}"
    if "407" in reason:
        return f"{named} refuses this (407): {_LOGIN}, in {where}"
    if _is_no_tls(error):
        return f"no connection to {named}: it speaks no TLS: write http:// for https:// in {where}"
    return f"no connection through {named}: {reason}: check {where}"


def _is_no_tls(error: WatchError) -> bool:
    return any(sign in error.message for sign in _NO_TLS)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    below: BaseException | None = error
    while below is not None and id(below) not in seen:
        seen.add(id(below))
        yield below
        below = below.__cause__ or below.__context__
