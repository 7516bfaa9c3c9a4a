"""Certificates for tests, made by trustme."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import trustme

DEFAULT_NAMES = ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class ClientCert:
    """A client certificate and its key, in PEM."""

    cert_pem: bytes
    key_pem: bytes

    def write(self, directory: Path, name: str = "client") -> tuple[Path, Path]:
        """Write `NAME.crt` and `NAME.key`; their paths."""
        cert, key = directory / f"{name}.crt", directory / f"{name}.key"
        cert.write_bytes(self.cert_pem)
        key.write_bytes(self.key_pem)
        return cert, key


class TestCA:
    """A certificate authority; each one is new. Raises ImportError without the extra `kwsync[test]`."""

    __test__ = False  # Not a test class, whatever pytest thinks of the name.

    def __init__(self) -> None:
        self._ca = _new_ca()
        self.pem: bytes = self._ca.cert_pem.bytes()

    def write(self, directory: Path, name: str = "ca") -> Path:
        """Write the CA's certificate to `NAME.crt`; its path."""
        path = directory / f"{name}.crt"
        path.write_bytes(self.pem)
        return path

    def server_context(
        self, *names: str, require_client_cert: bool = False, client_ca: TestCA | None = None
    ) -> ssl.SSLContext:
        """A server's context with a new certificate for `names` (hosts, IP addresses; default: loopback).

        Client certificates of `client_ca` (default: this one) are asked for, and demanded if told so.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*(names or DEFAULT_NAMES)).configure_cert(context)
        (client_ca or self)._ca.configure_trust(context)
        # Optional is what an API server does: it asks, and goes on to tokens when there is no certificate.
        context.verify_mode = ssl.CERT_REQUIRED if require_client_cert else ssl.CERT_OPTIONAL
        return context

    def client_cert(self, common_name: str, *, organization: str | None = None) -> ClientCert:
        """A new certificate for a user (common name) in a group (organization)."""
        cert = self._ca.issue_cert(
            f"{common_name}@test.example", common_name=common_name, organization_name=organization
        )
        return ClientCert(b"".join(part.bytes() for part in cert.cert_chain_pems), cert.private_key_pem.bytes())

    def client_context(self) -> ssl.SSLContext:
        """A client's context that trusts this CA alone, to talk to the server without kwsync."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._ca.configure_trust(context)
        return context


def _new_ca() -> trustme.CA:
    # The one place that needs trustme: importing kwsync.testing works without it.
    try:
        import trustme
    except ImportError as error:
        raise ImportError("TestCA needs trustme: pip install 'kwsync[test]'") from error
    return trustme.CA()
