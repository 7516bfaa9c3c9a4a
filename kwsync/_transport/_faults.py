"""Exceptions of the layers below to values, each in words that tell what happened."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator

from urllib3.exceptions import DecodeError, HTTPError, InvalidChunkLength, LocationParseError, ProtocolError

from kwsync._cancel import DeadlinePassed
from kwsync.credentials import CredentialError
from kwsync.errors import ConfigError, ErrorOrigin, WatchError, local_error

EXPECTED = (ConfigError, DeadlinePassed, OSError, HTTPError, http.client.HTTPException, ValueError)
"""What a request may raise. Anything else is a mistake of ours, or comes from a signal handler, and must be seen."""

SHUT = (*EXPECTED, AttributeError)
"""What an operation may raise that was ended from outside: it means nothing but that."""


class ProxyFault(OSError):
    """The proxy cannot be reached or does not let us through; the cause tells why. Its text names the proxy."""


def fault(error: Exception, path: str, outside: BaseException | None) -> WatchError:
    """The error value for an exception of `EXPECTED`, which becomes its cause.

    *outside* is what the caller of kwsync was handling when it called (``sys.exc_info()[1]`` outside of our blocks):
    Python chains it to every exception of ours, but it says nothing about them, and is not ours to change.
    """
    chain = list(_chain(error, outside))
    value = _classify(error, chain[-1], path)
    forget_frames(error, outside)
    value.__cause__ = error
    return value


def forget_frames(error: BaseException, outside: BaseException | None) -> None:
    """Take the tracebacks off: their frames hold the request's headers, the socket and the response."""
    for each in _chain(error, outside):
        each.__traceback__ = None
        for below in (each.__cause__, each.__context__):
            if below is not None and below is not outside:
                below.__traceback__ = None
        if each.__context__ is outside:
            each.__context__ = None


def _chain(error: BaseException, outside: BaseException | None) -> Iterator[BaseException]:
    """From the exception down to the one that knows what happened, and not into the caller's."""
    seen: set[int] = {id(outside)}
    below: BaseException | None = error
    while below is not None and id(below) not in seen:
        seen.add(id(below))
        yield below
        below = below.__cause__ or (None if below.__suppress_context__ else below.__context__)


def _classify(error: Exception, root: BaseException, path: str) -> WatchError:
    if isinstance(error, CredentialError):
        return local_error(ErrorOrigin.CONFIG, str(error), path=path, code=401, reason="Unauthorized")
    if isinstance(error, (ConfigError, UnicodeError, LocationParseError)):
        return local_error(ErrorOrigin.CONFIG, str(error), path=path)
    if isinstance(root, DeadlinePassed) or (isinstance(root, TimeoutError) and root.errno is None):
        return local_error(ErrorOrigin.TIMEOUT, "no answer in time", path=path)
    if isinstance(error, DecodeError):
        return local_error(ErrorOrigin.DECODE, "the answer's compression is broken", path=path)
    return local_error(ErrorOrigin.NETWORK, _describe(error, root), path=path)


def _describe(error: BaseException, root: BaseException) -> str:
    if isinstance(error, ProxyFault):
        return f"{error}: {_describe(error.__cause__ or root, root)}"
    if isinstance(root, InvalidChunkLength):  # which is an IncompleteRead as well
        return "the answer's chunks are malformed"
    if isinstance(root, http.client.IncompleteRead):
        return "the connection ended in the middle of the answer"
    if isinstance(error, ProtocolError) and root is error:
        return str(error.args[0])
    if isinstance(root, ssl.SSLCertVerificationError):
        return f"the server's certificate cannot be trusted: {root.verify_message}"
    if isinstance(root, http.client.HTTPException) and not isinstance(root, OSError):
        return f"the answer is not HTTP: {type(root).__name__}"
    return str(root) or type(root).__name__
