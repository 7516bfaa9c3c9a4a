"""Exceptions of the layers below to values, each in words that tell what happened."""

from __future__ import annotations

import http.client
import ssl

from urllib3.exceptions import DecodeError, HTTPError, InvalidChunkLength, LocationParseError, ProtocolError

from kwsync._cancel import DeadlinePassed
from kwsync.credentials import CredentialError
from kwsync.errors import ConfigError, ErrorOrigin, WatchError, local_error

EXPECTED = (ConfigError, DeadlinePassed, OSError, HTTPError, http.client.HTTPException, ValueError)
"""What a request may raise. Anything else is a mistake of ours, or comes from a signal handler, and must be seen."""


def fault(error: Exception, path: str) -> WatchError:
    """The error value for an exception of `EXPECTED`, which becomes its cause.

    Tracebacks are taken off: their frames hold the request's headers, the socket and the response.
    """
    value = _classify(error, path)
    value.__cause__ = _without_tracebacks(error)
    return value


def _classify(error: Exception, path: str) -> WatchError:
    root = _root(error)
    if isinstance(error, CredentialError):
        return local_error(ErrorOrigin.CONFIG, str(error), path=path, code=401, reason="Unauthorized")
    if isinstance(error, (ConfigError, UnicodeError, LocationParseError)):
        return local_error(ErrorOrigin.CONFIG, str(error), path=path)
    if isinstance(root, DeadlinePassed) or (isinstance(root, TimeoutError) and root.errno is None):
        return local_error(ErrorOrigin.TIMEOUT, "no answer in time", path=path)
    if isinstance(error, DecodeError):
        return local_error(ErrorOrigin.DECODE, "the answer's compression is broken", path=path)
    return local_error(ErrorOrigin.NETWORK, _describe(error, root), path=path)


def _root(error: BaseException) -> BaseException:
    """The exception at the bottom, which is the one that knows what happened."""
    seen = {id(error)}
    while True:
        below = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if below is None or id(below) in seen:
            return error
        seen.add(id(below))
        error = below


def _describe(error: Exception, root: BaseException) -> str:
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


def _without_tracebacks(error: BaseException) -> BaseException:
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        current = pending.pop()
        if current is not None and id(current) not in seen:
            seen.add(id(current))
            current.__traceback__ = None
            pending += [current.__cause__, current.__context__]
    return error
