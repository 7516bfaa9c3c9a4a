"""TLS contexts: whom to trust, and the client's certificate."""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import certifi

from kwsync._cluster import Cluster
from kwsync._transport._sockets import GuardedTLSSocket
from kwsync.credentials import Certificate, CredentialError
from kwsync.errors import ConfigError

_FileStamp = tuple[int, int, int]
_KEPT = 4


class TLSContexts:
    """The contexts of one cluster, made anew when the CA file or the client's certificate changes.

    Making one costs milliseconds (the system's authorities are parsed), so the newest few are kept. Threads may race:
    the loser's context is as good and is forgotten.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._contexts: dict[tuple[_FileStamp | None, Certificate | None], ssl.SSLContext] = {}

    def get(self, certificate: Certificate | None) -> ssl.SSLContext:
        """ConfigError for an authority that cannot be used, CredentialError for such a client certificate."""
        key = (self._stamp(), certificate)
        context = self._contexts.get(key)
        if context is None:
            context = self._make(certificate)
            kept = list(self._contexts.items())[-_KEPT + 1 :]
            self._contexts = dict([*kept, (key, context)])
        return context

    def _stamp(self) -> _FileStamp | None:
        path = self._cluster.ca_file
        if path is None or self._cluster.skip_tls_verify:
            return None
        try:
            state = os.stat(path)
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from error
        return state.st_mtime_ns, state.st_size, state.st_ino

    def _make(self, certificate: Certificate | None) -> ssl.SSLContext:
        context = _new_context()
        if self._cluster.skip_tls_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        else:
            _trust(context, _authorities(self._cluster))
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


def _authorities(cluster: Cluster) -> str | None:
    """The authorities as PEM; None for the system's. The file wins over the data.

    Bundles have comments in all languages between the certificates, and ssl takes ASCII alone.
    """
    if cluster.ca_file is not None:
        try:
            with open(cluster.ca_file, encoding="ascii", errors="ignore") as file:
                return file.read()
        except (OSError, ValueError) as error:
            raise _unreadable(cluster.ca_file, error) from error
    if not cluster.ca_data:
        return None
    data = cluster.ca_data if isinstance(cluster.ca_data, bytes) else cluster.ca_data.encode()
    if b"-----BEGIN" not in data:
        try:
            data = base64.b64decode(b"".join(data.split()), validate=True)
        except binascii.Error as error:
            raise ConfigError("the cluster's ca_data is neither PEM nor base64") from error
    return data.decode("ascii", "ignore")


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


def _unreadable(path: str | os.PathLike[str], error: Exception) -> ConfigError:
    detail = error.strerror if isinstance(error, OSError) else str(error)
    return ConfigError(f"the CA file {path} cannot be read: {detail}")
