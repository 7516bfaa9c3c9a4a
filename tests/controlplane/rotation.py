"""A second authority for a control plane that runs: it signs users, and later the server itself."""

import time
from http import HTTPStatus
from pathlib import Path

import trustme

from .api import send
from .credentials import Credentials
from .process import POLL_INTERVAL
from .server import ControlPlane

KNOWN_LIMIT = 45.0
"""Seconds within which the API server has read its file of authorities again."""


class SecondAuthority:
    """Leaving the `with` block puts back what was there, with a restart where the server itself was signed."""

    def __init__(self, plane: ControlPlane) -> None:
        files = Credentials(plane.folder)
        self._plane = plane
        self._authority = trustme.CA(organization_name="kwsync tests, second")
        self._certificate, self._key = files.server_cert_file, files.server_key_file
        paths = (plane.ca_file, self._certificate, self._key)
        self._before: dict[Path, bytes] = {path: path.read_bytes() for path in paths}
        self._serves = False
        self.pem: bytes = self._authority.cert_pem.bytes()

    def __enter__(self) -> "SecondAuthority":
        # The same file says whom the server trusts, and whom the tests trust.
        self._plane.ca_file.write_bytes(self._before[self._plane.ca_file] + self.pem)
        return self

    def __exit__(self, *_: object) -> None:
        for path, content in self._before.items():
            path.write_bytes(content)
        if self._serves:
            self._plane.restart_apiserver(kill=True)

    def user(self, name: str) -> tuple[bytes, bytes]:
        """A certificate and a key of a user who may do everything."""
        return user_of(self._authority, name)

    def wait_known(self, folder: Path) -> None:
        """Wait until the server takes its users."""
        for path, content in zip((folder / "probe.pem", folder / "probe.key"), self.user("probe"), strict=True):
            path.write_bytes(content)
        context = self._plane.tls_context()
        context.load_cert_chain(folder / "probe.pem", folder / "probe.key")
        deadline = time.monotonic() + KNOWN_LIMIT
        while send(self._plane.url, "GET", "/api/v1/namespaces", tls=context).status != HTTPStatus.OK:
            assert time.monotonic() < deadline, "the server has not read its authorities again"
            time.sleep(POLL_INTERVAL)

    def serve(self) -> None:
        """Restart the API server with a certificate of this authority."""
        issued = self._authority.issue_cert("127.0.0.1", "localhost")
        issued.cert_chain_pems[0].write_to_path(self._certificate)
        issued.private_key_pem.write_to_path(self._key)
        self._serves = True
        self._plane.restart_apiserver(kill=True)


def user_of(authority: trustme.CA, name: str) -> tuple[bytes, bytes]:
    """A certificate and a key of a user in the group system:masters, as one authority signs them."""
    issued = authority.issue_cert(f"{name}@kwsync.test", common_name=name, organization_name="system:masters")
    return issued.cert_chain_pems[0].bytes(), issued.private_key_pem.bytes()
