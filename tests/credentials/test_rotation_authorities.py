"""A certificate authority that is replaced while a client lives."""

from __future__ import annotations

import base64
import logging
from pathlib import Path

import pytest

from kwsync import Backoff, Client, Cluster, ErrorOrigin, list_and_watch, watch_resource
from kwsync.testing import ApiServer, TestCA
from tests.client.support import Running, failure, wait_until
from tests.credentials.rotating import POD, Lasting, Mount, closed_in_time, get, serving

FAST = Backoff(initial=0.01, cap=0.02, jitter=0)


@pytest.fixture(scope="module")
def ca() -> TestCA:
    """The authority of the server at first."""
    return TestCA()


@pytest.fixture(scope="module")
def other() -> TestCA:
    """The one that follows."""
    return TestCA()


@pytest.fixture
def mount(ca: TestCA, tmp_path: Path) -> Mount:
    """The authority in a file."""
    return Mount(tmp_path, ca_crt=ca.pem)


class TestChange:
    def test_b188_change(self, ca: TestCA, other: TestCA, mount: Mount) -> None:
        """Idle connections are closed and new ones trust the new authority; a running watch stays."""
        context = ca.server_context()
        with serving(ca, None, context=context, ca_file=mount.path("ca_crt")) as (server, client):
            lasting = Lasting(server)
            with watch_resource("pods", client=client) as stream:
                next(stream)
                get(client)
                server.tls = other.server_context()
                mount.swap(ca_crt=other.pem)
                get(client)
                assert [request.connection_id for request in server.requests] == [1, 2, 3]
                server.wait_for_disconnect()
                lasting.assert_open(stream)
            get(client)
            assert server.requests[-1].connection_id == 3, "and its connection is not used again"
            wait_until(lambda: server.open_connections == 1, "the other to be closed")

    def test_same_again(self, ca: TestCA, mount: Mount) -> None:
        """The same in a new file changes nothing, nor does another bundle that begins to be used with it."""
        with serving(ca, None, context=ca.server_context(), ca_file=mount.path("ca_crt")) as (server, client):
            get(client)
            mount.swap(ca_crt=ca.pem)
            get(client)
            assert server.connections_accepted == 1

    def test_removed_authority(self, ca: TestCA, other: TestCA, mount: Mount) -> None:
        """A server whose authority is trusted no more gets no further request, not even on a kept connection."""
        with serving(ca, None, context=ca.server_context(), ca_file=mount.path("ca_crt")) as (server, client):
            get(client)
            mount.swap(ca_crt=other.pem)
            error = failure(lambda: get(client))
            assert error.origin is ErrorOrigin.NETWORK
            assert "cannot be trusted" in error.message
            assert len(server.requests) == 1

    def test_b188_following(self, ca: TestCA, other: TestCA, mount: Mount) -> None:
        """A server comes back with a certificate of a new authority: a follower goes on when the file is there."""
        with (
            ApiServer(tls=ca) as server,
            Client(Cluster(server.url, ca_file=mount.path("ca_crt"))) as client,
            list_and_watch("configmaps", client=client, namespace="default", backoff=FAST) as stream,
            closed_in_time(stream),
        ):
            server.create(configmap("a"))
            assert [str(next(stream).type) for _ in range(2)] == ["ADDED", "SYNCED"]
            reading = Running(lambda: [next(stream) for _ in range(2)])
            server.wait_for_requests(2)
            server.tls = other.server_context()
            mount.swap(ca_crt=ca.pem + other.pem)  # both for a while, as whoever rotates should
            server.drop_connections()
            server.create(configmap("b"))
            lost, added = reading.result()
            assert lost.error is not None
            assert lost.error.origin is ErrorOrigin.NETWORK
            assert added.key.name == "b"


def configmap(name: str) -> dict[str, object]:
    """A small object."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


class TestTrouble:
    @pytest.mark.parametrize("trouble", ["gone", "empty", "rubbish", "half", "half-a-bundle", "folder"])
    def test_b188_keeps_the_old(
        self, ca: TestCA, other: TestCA, mount: Mount, trouble: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A file that is gone or broken after a good one changes nothing, and is told once; then comes the new one."""
        contents = {
            "empty": b"",
            "rubbish": b"made up",
            "half": other.pem[: len(other.pem) // 2],
            "half-a-bundle": other.pem + ca.pem[: len(ca.pem) // 2],
        }
        with serving(ca, None, context=ca.server_context(), ca_file=mount.path("ca_crt")) as (server, client):
            get(client)
            if trouble == "gone":
                mount.swap()
            elif trouble == "folder":
                mount.swap()
                (mount.folder / "..data" / "ca.crt").mkdir()
            else:
                mount.swap(ca_crt=contents[trouble])
            with caplog.at_level(logging.WARNING, "kwsync.transport"):
                get(client)
                assert server.connections_accepted == 1
                server.drop_connections()
                assert get(client) == POD
            (record,) = caplog.records
            assert "the last authorities stay in use" in record.message
            server.tls = other.server_context()
            server.drop_connections()
            mount.swap(ca_crt=other.pem)
            assert get(client) == POD

    @pytest.mark.parametrize("content", [None, b"", b"made up", b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
    def test_b188_never_any(self, ca: TestCA, mount: Mount, content: bytes | None) -> None:
        """At first it is an error, without a connection, until there is one: nobody trusts the system's instead."""
        mount.swap(**({} if content is None else {"ca_crt": content}))
        with serving(ca, None, context=ca.server_context(), ca_file=mount.path("ca_crt")) as (server, client):
            for _ in range(2):
                error = failure(lambda: get(client))
                assert (error.origin, error.status_code) == (ErrorOrigin.CONFIG, 0)
            assert server.connections_accepted == 0
            mount.swap(ca_crt=ca.pem)
            assert get(client) == POD

    def test_b188_data_is_fixed(self, ca: TestCA, other: TestCA) -> None:
        """An authority that was given as data stays."""
        for data in (ca.pem, base64.b64encode(ca.pem).decode()):
            with serving(ca, None, context=ca.server_context(), ca_data=data) as (server, client):
                get(client)
                server.tls = other.server_context()
                server.drop_connections()
                assert "cannot be trusted" in failure(lambda: get(client)).message
                server.tls = ca.server_context()
                assert get(client) == POD
