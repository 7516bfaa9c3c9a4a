"""What is no request, or an unusual one, is refused as a real API server does, but for what is named here."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import pytest

from kwsync.testing import ApiServer
from tests.controlplane.server import ControlPlane
from tests.testing.raw_client import LIMIT_SECONDS
from tests.testing.test_http import HOSTS, NONSENSE, OTHER_REFUSALS, PATHS

pytestmark = pytest.mark.slow

STRICTER = {
    "a real server finds chunks that are none while it reads an object, and blames itself": (
        "chunk-word",
        "chunk-negative",
        "chunk-prefixed",
        "chunk-empty",
        "chunk-endless-size",
        "chunk-unfinished",
        "trailers-endless",
    ),
    "Go's server is lenient": (
        "connect-path",
        "escape-in-query",
        "headers-complete",
        "line-feed",
        "name-folded",
        "target-absolute-empty",
        "target-bracket",
        "target-fragment",
        "target-not-ascii",
    ),
    "it has another code for that": ("line", "version"),
}
REQUESTS = {
    **{name: sent for name, sent in NONSENSE.items() if name != "tls"},
    **{name: sent for name, (sent, _) in OTHER_REFUSALS.items() if name != "headers"},
    **{name: sent for name, (sent, _) in HOSTS.items()},
    **{f"{method} {path}": f"{method} {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode() for method, path, _ in PATHS},
}


def status(port: int, context: ssl.SSLContext, token: str, sent: bytes) -> int:
    """The status code of the answer."""
    headers = f"\r\nAuthorization: Bearer {token}\r\n".encode()
    plain = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_SECONDS)
    with context.wrap_socket(plain, server_hostname="127.0.0.1") as client, client.makefile("rb") as answer:
        client.sendall(sent.replace(b"\r\n", headers, 1))
        return int(answer.readline().split()[1])


@pytest.fixture(scope="module")
def differing(control_plane: ControlPlane) -> Iterator[dict[str, tuple[int, int]]]:
    """The requests whose answers have another code, and both codes."""
    real = int(control_plane.url.rpartition(":")[2])
    with ApiServer(tls=True) as server:
        assert server.ca is not None
        token = server.token_for("admin", ["system:masters"])
        found = {}
        for name, sent in REQUESTS.items():
            codes = (
                status(real, control_plane.tls_context(), control_plane.admin_token, sent),
                status(server.port, server.ca.client_context(), token, sent),
            )
            if codes[0] != codes[1]:
                found[name] = codes
        yield found


def test_differences(differing: dict[str, tuple[int, int]]) -> None:
    """Whatever is not named has the same code, and whatever is named has not."""
    named = [name for names in STRICTER.values() for name in names]
    assert differing == {name: differing.get(name) for name in named}
