"""TLS contexts: whom to trust, and the client's certificate."""

from __future__ import annotations

import logging
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import certifi

from kwsync._cluster import Cluster
from kwsync._transport._authorities import Authorities
from kwsync._transport._sockets import GuardedTLSSocket
from kwsync.credentials import Certificate, CredentialError
from kwsync.errors import ConfigError

_KEPT = 4

_log = logging.getLogger("kwsync.transport")


class TLSContexts:
    """The contexts of one cluster, made anew when the CA file or the client's certificate changes.

    Making one costs milliseconds (the system's authorities are parsed), so the newest few are kept. Threads may race:
    the loser's context is as good and is forgotten.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._verify = not cluster.skip_tls_verify
        self._authorities = Authorities(cluster, lambda pem: _trust(_new_context(), pem))
        self._contexts: dict[tuple[str | None, Certificate | None], ssl.SSLContext] = {}
        self._good: Certificate | None = None
        self._bad: Certificate | None = None

    def authorities(self) -> str | None:
        """Whom to trust now, as PEM; None for the system's. ConfigError where they never could be used."""
        return self._authorities.pem()

    def usable(self, certificate: Certificate | None) -> Certificate | None:
        """The client's certificate, or the last that could be used, if this one cannot.

        So it is in the moment between the writing of a new certificate and of its key. CredentialError where there was
        none before.
        """
        good = self._good
        if certificate is None or certificate == good:
            return certificate
        if good is not None and certificate == self._bad:
            return good
        try:
            _present(_new_context(), certificate)
        except CredentialError as error:
            if good is None:
                raise
            if isinstance(error.__cause__, ssl.SSLError):  # and not for want of a file
                self._bad = certificate
            _log.warning("the last client certificate stays in use: %s", error)
            return good
        self._good = certificate
        return certificate

    def get(self, authorities: str | None, certificate: Certificate | None) -> ssl.SSLContext:
        """For what the two others gave; ConfigError and CredentialError all the same where it cannot be used."""
        key = (authorities, certificate)
        context = self._contexts.get(key)
        if context is None:
            context = self._make(authorities, certificate)
            kept = list(self._contexts.items())[-_KEPT + 1 :]
            self._contexts = dict([*kept, (key, context)])
        return context

    def _make(self, authorities: str | None, certificate: Certificate | None) -> ssl.SSLContext:
        context = _new_context()
        if self._verify:
            _trust(context, authorities)
        else:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate is not None:
            _present(context, certificate)
        return context


def proxy_context() -> ssl.SSLContext:
    """For an HTTPS proxy, which is trusted as the system trusts, not as the cluster says."""
    context = _new_context()
    _trust(context, None)
    return context


def _new_context() -> ssl.SSLContext:
    # Not create_default_context(): from Python 3.13 on that asks for X.509 fields which the certificates of many
    # clusters lack (kubeadm's among them). As in Go, a certificate given as an authority is one even if not a root.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.sslsocket_class = GuardedTLSSocket
    return context


def _trust(context: ssl.SSLContext, authorities: str | None) -> None:
    if authorities is None:
        context.load_default_certs()
        if not context.cert_store_stats()["x509_ca"]:  # none, or in a folder that is searched when needed
            context.load_verify_locations(cafile=certifi.where())
        return
    try:
        context.load_verify_locations(cadata=authorities)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError("the cluster's certificate authority holds no certificate in PEM form") from error


def _present(context: ssl.SSLContext, certificate: Certificate) -> None:
    """Load the client's certificate, for which ssl knows only files."""
    try:
        with _private_file(certificate.certificate + b"\n" + certificate.key + b"\n") as path:
            context.load_cert_chain(path, password="")  # empty, so that a locked key is an error and no prompt
    except ssl.SSLError as error:
        raise CredentialError("the client certificate and key cannot be used: not PEM, locked, or no pair") from error
    except (OSError, ValueError) as error:
        raise CredentialError("the client certificate needs a temporary file, which cannot be made") from error


@contextmanager
def _private_file(data: bytes) -> Iterator[str]:
    """A file for this process alone, that is gone at once: in memory where the system can (Linux), else on disk."""
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        with os.fdopen(os.memfd_create("kwsync-certificate"), "wb") as file:
            file.write(data)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.NamedTemporaryFile(prefix="kwsync-", suffix=".pem") as file:
        file.write(data)
        file.flush()
        yield file.name
