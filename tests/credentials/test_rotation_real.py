"""Token, client certificate and authority are replaced against kube-apiserver itself, while a follower runs."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from kwsync import Backoff, Client, Cluster, EventType, WatchError, list_and_watch, watch_resource
from kwsync.credentials import BearerToken, ClientCertificate, Credential, TokenFile
from kwsync.credentials._cached import LEEWAY_SECONDS
from tests.client.support import wait_until
from tests.controlplane.rotation import SecondAuthority, user_of
from tests.controlplane.server import ControlPlane
from tests.credentials.plugins import Program, context_of, moment
from tests.credentials.rotating import LIMIT, Mount, closed_in_time, replaced

LONG = 30.0
"""Seconds for a real server to forget a token (it remembers those that were good for ten), or to be back."""

QUICK = Backoff(initial=0.05, cap=0.2)
WINDOW = 2
"""Whole seconds of a watch, so that many follow one another."""

pytestmark = pytest.mark.timeout(120)


class Follower:
    """Keeps what a follower tells, on a thread; what is told twice, or never was there, is an error of its own."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.known: dict[str, str | None] = {}
        self.errors: list[WatchError] = []
        self.mistakes: list[str] = []
        self.stream = list_and_watch(
            "configmaps", client=client, namespace=namespace, timeout_seconds=WINDOW, backoff=QUICK
        )
        self._thread = threading.Thread(target=self._run, name="test-follower", daemon=True)

    def __enter__(self) -> Follower:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self._thread.join(LIMIT)
        assert not self._thread.is_alive(), "the follower did not end"

    def _run(self) -> None:
        for event in self.stream:
            name = event.key.name
            if event.error is not None:
                self.errors.append(event.error)
            elif event.type is EventType.DELETED:
                self.known.pop(name)
            elif event.type is not EventType.SYNCED:
                if (event.type is EventType.ADDED) is (name in self.known):
                    self.mistakes.append(f"{event.type} {name}")
                self.known[name] = event.resource_version

    def wait_equal(self, admin: Client, namespace: str, limit: float = LONG) -> None:
        """Until it knows what the server has."""
        server = {found["metadata"]["name"]: found["metadata"]["resourceVersion"] for found in admin.list(
            "configmaps", namespace
        )}  # fmt: skip
        wait_until(lambda: self.known == server, f"the same as on the server: {self.errors[-3:]}", limit)
        assert self.mistakes == []


@pytest.fixture
def admin(control_plane: ControlPlane) -> Iterator[Client]:
    """Who writes, and looks what the server has; nothing of it changes."""
    with client_of(control_plane, BearerToken(control_plane.admin_token)) as client:
        yield client


@contextmanager
def client_of(plane: ControlPlane, credential: Credential, ca_file: Path | None = None) -> Iterator[Client]:
    """A client of the real server."""
    cluster = Cluster(plane.url, ca_file=ca_file or plane.ca_file)
    with Client(cluster, credential, connect_timeout=LIMIT, request_timeout=10.0) as client:
        yield client


def write(admin: Client, namespace: str, *names: str) -> None:
    """Some objects, of which the first is changed and deleted."""
    for name in names:
        admin.create("configmaps", {"metadata": {"name": name}}, namespace)
    admin.patch("configmaps", names[0], {"data": {"a": "b"}}, namespace)
    admin.delete("configmaps", names[0], namespace)


def refused(plane: ControlPlane, token: str) -> bool:
    """Does the server know it no more?"""
    return plane.request("GET", "/api", token=token).status == 401


class Account:
    """A service account that may do everything in its namespace, and its tokens, each bound to a secret."""

    def __init__(self, admin: Client, namespace: str) -> None:
        self._admin, self._namespace = admin, namespace
        admin.create("serviceaccounts", {"metadata": {"name": "app"}}, namespace)
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        subject = {"kind": "ServiceAccount", "name": "app", "namespace": namespace}
        binding = {"metadata": {"name": "app"}, "roleRef": role, "subjects": [subject]}
        admin.create("rbac.authorization.k8s.io/v1/rolebindings", binding, namespace)

    def token(self, name: str) -> str:
        """A new one, for ten minutes (the least)."""
        secret: dict[str, Any] = {"metadata": {"name": name}}
        uid = self._admin.create("secrets", secret, self._namespace)["metadata"]["uid"]
        bound = {"apiVersion": "v1", "kind": "Secret", "name": name, "uid": uid}
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 600, "boundObjectRef": bound},
        }
        path = f"/api/v1/namespaces/{self._namespace}/serviceaccounts/app/token"
        return str(self._admin.request("POST", path, body=request)["status"]["token"])

    def revoke(self, name: str) -> None:
        """Make the token of this name worthless."""
        self._admin.delete("secrets", name, self._namespace)


def test_token(control_plane: ControlPlane, admin: Client, real_namespace: str, tmp_path: Path) -> None:
    """A token that was replaced in time costs nothing; one that was not is a 401 until the file is right again."""
    account = Account(admin, real_namespace)
    one, two, late = (account.token(name) for name in ("one", "two", "late"))
    for name in ("prompt", "late"):
        (tmp_path / name).mkdir()
    in_time, too_late = Mount(tmp_path / "prompt", token=one), Mount(tmp_path / "late", token=late)
    control_plane.wait_served(f"/api/v1/namespaces/{real_namespace}/configmaps", one)
    with (
        client_of(control_plane, TokenFile(in_time.path("token"))) as client,
        client_of(control_plane, TokenFile(too_late.path("token"))) as other,
        Follower(client, real_namespace) as prompt,
        Follower(other, real_namespace) as tardy,
    ):
        write(admin, real_namespace, "a1", "a2")
        for follower in (prompt, tardy):
            follower.wait_equal(admin, real_namespace)
        in_time.swap(token=two)
        account.revoke("one")
        account.revoke("late")
        wait_until(lambda: refused(control_plane, one), "the first token to be worthless", LONG)
        wait_until(lambda: tardy.errors, "an error", LONG)
        assert {error.status_code for error in tardy.errors} == {401}
        write(admin, real_namespace, "b1", "b2")
        client.list("configmaps", real_namespace)  # had the first token been in use until now, this reads the second
        prompt.wait_equal(admin, real_namespace)
        assert prompt.errors == []
        too_late.swap(token=two)
        tardy.wait_equal(admin, real_namespace)


def test_client_certificate(control_plane: ControlPlane, admin: Client, real_namespace: str, tmp_path: Path) -> None:
    """A new one ends the watches of the old one; one of a stranger is a 401 and ends none; then it goes on."""
    with SecondAuthority(control_plane) as authority:
        authority.wait_known(tmp_path)
        mount = Mount(tmp_path, **pair(authority.user("one")))
        credential = ClientCertificate(certificate_file=mount.path("tls_crt"), key_file=mount.path("tls_key"))
        with (
            client_of(control_plane, credential) as client,
            Follower(client, real_namespace) as follower,
            watch_resource("secrets", client=client, namespace=real_namespace) as stream,
        ):
            admin.create("secrets", {"metadata": {"name": "s"}}, real_namespace)
            assert next(stream).key.name == "s"
            write(admin, real_namespace, "a1", "a2")
            follower.wait_equal(admin, real_namespace)
            mount.swap(**pair(authority.user("two")))
            write(admin, real_namespace, "b1", "b2")
            assert who(client) == "two"
            replaced(stream)
            follower.wait_equal(admin, real_namespace)
            follower.errors.clear()
            mount.swap(**pair(user_of(trustme.CA(), "stranger")))
            wait_until(lambda: follower.errors, "an error", LONG)
            assert {error.status_code for error in follower.errors} == {401}
            write(admin, real_namespace, "c1", "c2")
            mount.swap(**pair(authority.user("three")))
            follower.wait_equal(admin, real_namespace)
            assert who(client) == "three"


@pytest.mark.skipif(os.name == "nt", reason="the program is written in sh")
def test_exec_plugin(control_plane: ControlPlane, admin: Client, real_namespace: str, tmp_path: Path) -> None:
    """A plugin's certificate: when its time is over the plugin is asked again, and what the old one began ends."""
    program = Program(tmp_path / "bin")
    with SecondAuthority(control_plane) as authority:
        authority.wait_known(tmp_path)
        program.gives(**answered(authority.user("one")), expirationTimestamp=moment(LEEWAY_SECONDS + 3))
        with (
            client_of(control_plane, program.plugin()) as client,
            Follower(client, real_namespace) as follower,
            watch_resource("secrets", client=client, namespace=real_namespace) as stream,
        ):
            admin.create("secrets", {"metadata": {"name": "s"}}, real_namespace)
            assert next(stream).key.name == "s"
            assert who(client) == "one"
            program.gives(**answered(authority.user("two")), expirationTimestamp=moment(3600))
            write(admin, real_namespace, "a1", "a2")
            follower.wait_equal(admin, real_namespace)
            wait_until(lambda: who(client) == "two", "the plugin to be asked at the expiry", LONG)
            replaced(stream)
            write(admin, real_namespace, "b1", "b2")
            follower.wait_equal(admin, real_namespace)
            assert [error for error in follower.errors if error.status_code] == [], "no 401 on the way"


def answered(issued: tuple[bytes, bytes]) -> dict[str, str]:
    """A certificate as a plugin gives it."""
    return {"clientCertificateData": issued[0].decode(), "clientKeyData": issued[1].decode()}


def test_new_token_keeps_a_watch(
    control_plane: ControlPlane, admin: Client, real_namespace: str, tmp_path: Path
) -> None:
    """One watch, which is one request, goes on telling after the token that began it was replaced in its file."""
    account = Account(admin, real_namespace)
    mount = Mount(tmp_path, token=account.token("one"))
    control_plane.wait_served(f"/api/v1/namespaces/{real_namespace}/configmaps", mount.path("token").read_text())
    credential = TokenFile(mount.path("token"))
    with (
        client_of(control_plane, credential) as client,
        watch_resource("configmaps", client=client, namespace=real_namespace) as stream,
        closed_in_time(stream),
    ):
        admin.create("configmaps", {"metadata": {"name": "one"}}, real_namespace)
        assert next(stream).key.name == "one"
        seen = {token_name(client)}
        for name in ("two", "three"):
            mount.swap(token=account.token(name))
            assert credential.refresh(credential.authorize(context_of(client.cluster))) is True
            seen.add(token_name(client))
            admin.create("configmaps", {"metadata": {"name": name}}, real_namespace)
            event = next(stream)
            assert (str(event.type), event.key.name) == ("ADDED", name)
        assert len(seen) == 3, "each token has been in use"


def token_name(client: Client) -> str:
    """The name by which the server tells one token of an account from another."""
    (name,) = review(client)["extra"]["authentication.kubernetes.io/credential-id"]
    return str(name)


def pair(issued: tuple[bytes, bytes]) -> dict[str, bytes | str]:
    """The two files of a certificate."""
    return {"tls_crt": issued[0], "tls_key": issued[1]}


def who(client: Client) -> str:
    """As whom the server sees it."""
    return str(review(client)["username"])


def review(client: Client) -> dict[str, Any]:
    """All that it says of that."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = client.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=body)
    found: dict[str, Any] = answer["status"]["userInfo"]
    return found


def test_authority(control_plane: ControlPlane, admin: Client, real_namespace: str, tmp_path: Path) -> None:
    """The server comes back with a certificate of another authority: nobody is trusted until the file says so."""
    mount = Mount(tmp_path, ca_crt=control_plane.ca_file.read_bytes())
    credential = BearerToken(control_plane.admin_token)
    with (
        SecondAuthority(control_plane) as authority,
        client_of(control_plane, credential, mount.path("ca_crt")) as client,
        Follower(client, real_namespace) as follower,
    ):
        write(admin, real_namespace, "a1", "a2")
        follower.wait_equal(admin, real_namespace)
        authority.serve()
        write(admin, real_namespace, "b1", "b2")
        wait_until(lambda: any(distrusts(error) for error in follower.errors), "an error", LONG)
        mount.swap(ca_crt=b"")  # half written
        write(admin, real_namespace, "c1", "c2")
        mount.swap(ca_crt=authority.pem)
        follower.wait_equal(admin, real_namespace)
    write(admin, real_namespace, "d1", "d2")


def distrusts(error: WatchError) -> bool:
    """Is it about the server's certificate?"""
    return "cannot be trusted" in error.message
