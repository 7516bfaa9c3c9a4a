"""Who may: tokens, certificates, rules, the anonymous; 401 and 403 in the real server's words."""

from __future__ import annotations

import contextlib
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwsync import Client, Cluster
from kwsync.credentials import ClientCertificate
from kwsync.testing import ApiServer, TestCA
from tests.testing.apiserver.recorded import body as recorded
from tests.testing.apiserver.wire import MAPS, Http, Open, config_map, told

DEMO = "/api/v1/namespaces/demo/configmaps"


@pytest.fixture
def viewer(api_server: ApiServer) -> Iterator[Http]:
    """A connection of a user who may do nothing."""
    api_server.deny("viewer")
    token = api_server.token_for("viewer")
    with contextlib.closing(Http(api_server, Authorization=f"Bearer {token}")) as client:
        yield client


class TestTokens:
    def test_unknown(self, http: Http) -> None:
        """A token that nobody has is 401, and so is another way to prove oneself."""
        for header in ("Bearer unknown", "Basic eDp5"):
            answer = http("GET", MAPS, Authorization=header)
            assert (answer.status, answer.body) == (401, recorded("auth-401-bad-token"))

    def test_revoked(self, api_server: ApiServer) -> None:
        """A token that is revoked is 401 from then on; others of the user stay."""
        first, second = (api_server.token_for("alice") for _ in range(2))
        api_server.revoke(first)
        for token, status in ((first, 401), (second, 200)):
            with contextlib.closing(Http(api_server, Authorization=f"Bearer {token}")) as client:
                assert client.list_maps().status == status

    def test_nobody(self) -> None:
        """Without anonymous requests, no credentials are 401 (auth-401-anonymous-disabled)."""
        with ApiServer(anonymous=False) as server, contextlib.closing(Http(server)) as client:
            assert client.list_maps().body == recorded("auth-401-anonymous-disabled")
            assert client.list_maps(watch=1).body == recorded("auth-401-anonymous-disabled-watch")


class TestRules:
    @pytest.mark.parametrize(
        ("path", "name"),
        [
            (DEMO, "auth-403-viewer-list"),
            ("/api/v1/configmaps", "auth-403-viewer-list-all"),
            (f"{DEMO}?watch=1", "auth-403-viewer-watch"),
            (f"{DEMO}/cm-a", "auth-403-viewer-get"),
            ("/api/v1/namespaces/demo/nosuch", "auth-403-unknown-resource"),
            (f"{DEMO}?watch=1&fieldSelector=metadata.name%3Dcm-b", "auth-resourcenames-other"),
        ],
    )
    def test_denied(self, viewer: Http, path: str, name: str) -> None:
        """Trap 15: 403 names user, verb, resource and place, and comes before any 404."""
        answer = viewer("GET", path)
        assert (answer.status, answer.body) == (403, recorded(name))
        assert answer.headers["X-Content-Type-Options"] == "nosniff"

    def test_anonymous(self, api_server: ApiServer, http: Http) -> None:
        """The user without credentials has a name, under which it is denied; the version stays public."""
        api_server.deny("system:anonymous")
        assert http.get(DEMO).body == recorded("auth-403-anonymous")
        assert (http.get("/version").status, http.get("/apis").status) == (200, 403)

    def test_discovery(self, viewer: Http) -> None:
        """Who has a name may always look what there is, and ask what it may do."""
        assert viewer.get("/apis").status == 200
        review = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "demo"}}}
        answer = viewer("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
        assert (answer.status, answer.body["status"]) == (201, {"allowed": False})
        who = viewer("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
        assert who.body["status"]["userInfo"]["username"] == "viewer"

    def test_last_rule_counts(self, api_server: ApiServer, viewer: Http) -> None:
        """A later rule wins over an earlier one, as far as it goes."""
        api_server.allow("viewer", verbs=["get", "list"], resources="configmaps", namespaces="default")
        assert viewer.list_maps().status == 200
        assert viewer.list_maps(watch=1).status == 403
        assert viewer.get(DEMO).status == 403
        api_server.allow_everything()
        assert viewer.get(DEMO).status == 200

    def test_names(self, api_server: ApiServer, viewer: Http) -> None:
        """A7: a right to one name is one to list and watch it by metadata.name (auth-resourcenames-…)."""
        api_server.create(config_map("cm-a"))
        api_server.allow("viewer", resources="configmaps", names="cm-a")
        assert viewer.list_maps(fieldSelector="metadata.name=cm-a").names == ["cm-a"]
        assert viewer.list_maps().status == 403
        assert viewer.get(f"{MAPS}/cm-b").status == 403

    def test_groups_and_parts(self, api_server: ApiServer, viewer: Http) -> None:
        """Rules may name groups, resources with their group, and subresources."""
        api_server.allow("system:authenticated", resources=["deployments.apps", "pods/status"])
        assert viewer.get("/apis/apps/v1/deployments").status == 200
        assert viewer.get("/api/v1/namespaces/default/pods/p").status == 403
        assert viewer.get("/api/v1/namespaces/default/pods/p/status").status == 404

    def test_masters(self, api_server: ApiServer) -> None:
        """The group system:masters is above all rules."""
        api_server.deny()
        token = api_server.token_for("root", ["system:masters"])
        with contextlib.closing(Http(api_server, Authorization=f"Bearer {token}")) as client:
            assert client.list_maps().status == 200

    def test_open_watch(self, api_server: ApiServer, http: Http, watch: Open) -> None:
        """A3: rights are looked at when a watch begins; one that is open goes on without them (watch-rbac-removed)."""
        stream = watch()
        api_server.deny("system:anonymous")
        api_server.create(config_map())
        assert told(stream.events(1)) == [("ADDED", "a")]
        assert http.list_maps(watch=1).status == 403


class TestNonsense:
    @pytest.mark.parametrize(
        ("rule", "error", "words"),
        [
            ({"verbs": "wacth"}, ValueError, "no verb 'wacth'; there are get, list"),
            ({"verbs": ["get", "post"]}, ValueError, "no verb 'post'"),
            ({"verbs": "*"}, ValueError, r"no verb '\*'"),
            ({"verbs": [5]}, TypeError, "verbs must be a str, not 5"),
            ({"user": 5}, TypeError, "user must be a str, not 5"),
            ({"user": None}, TypeError, "user must be a str, not None"),
            ({"user": ""}, ValueError, "user must not be empty"),
            ({"resources": "Pod"}, ValueError, "resources are plurals"),
            ({"resources": "apps/v1/deployments"}, ValueError, "resources are plurals"),
            ({"namespaces": b"default"}, TypeError, "namespaces must be a str"),
            ({"names": {"a": None}.values()}, TypeError, "names must be a str"),
            ({"verb": "get"}, TypeError, "unexpected keyword argument 'verb'"),
        ],
        ids=str,
    )
    def test_rules(self, api_server: ApiServer, http: Http, rule: Any, error: type[Exception], words: str) -> None:
        """A rule that could fit nothing is refused, with a sentence; and nothing changes."""
        for add in (api_server.deny, api_server.allow):
            with pytest.raises(error, match=words):
                add(**rule)
        assert http.list_maps().status == 200

    def test_one_text_is_one_name(self, api_server: ApiServer, http: Http) -> None:
        """A text is a name, and not the names of its letters."""
        api_server.deny("system:anonymous", verbs="watch", resources="configmaps", namespaces="default")
        assert [http.list_maps().status, http.list_maps(watch=1).status] == [200, 403]

    def test_groups(self, api_ca: TestCA) -> None:
        """The same of groups, in tokens and certificates."""
        with ApiServer(tls=api_ca) as server:
            server.deny()
            server.allow("team")
            with server.client("alice", groups="team") as client:
                assert list(client.list("pods")) == []
            assert server.kubeconfig("alice", groups="team", certificate=True)["users"]
            with pytest.raises(ValueError, match="one group"):
                server.kubeconfig("alice", groups=["team", "other"], certificate=True)
            with pytest.raises(TypeError, match="user must be a str"):
                server.token_for(5)  # type: ignore[arg-type]


class TestTls:
    def test_token(self, api_ca: TestCA) -> None:
        """A server with TLS is one that a client can trust by its authority."""
        with ApiServer(tls=api_ca) as server, contextlib.closing(Http(server, api_ca.client_context())) as client:
            assert server.url.startswith("https://")
            assert client.list_maps().status == 200

    def test_certificate(self, api_ca: TestCA, tmp_path: Path) -> None:
        """A client certificate tells the user by its common name, a group by its organization."""
        with ApiServer(tls=api_ca) as server:
            server.deny()
            server.allow("team", resources="pods")
            context = api_ca.client_context()
            context.load_cert_chain(*server.certificate_for("alice", "team").write(tmp_path))
            with contextlib.closing(Http(server, context)) as client:
                assert client.get("/api/v1/pods").status == 200
                assert 'User "alice" cannot list resource "configmaps"' in client.list_maps().body["message"]

    def test_no_certificates_without_tls(self, api_server: ApiServer) -> None:
        """RuntimeError where nobody could ever see the certificate."""
        with pytest.raises(RuntimeError, match="tls=True"):
            api_server.certificate_for("alice")

    def test_stranger(self, api_ca: TestCA) -> None:
        """Who does not trust the authority cannot talk to it, and the server remembers that."""
        with ApiServer(tls=api_ca) as server, contextlib.closing(Http(server, ssl.create_default_context())) as client:
            with pytest.raises(ssl.SSLError):
                client.list_maps()
            server.wait_until_idle()
            assert server.tls_errors


class TestClients:
    def test_client(self, api_ca: TestCA) -> None:
        """client() is nobody's or a user's, and trusts the server."""
        with ApiServer(tls=api_ca) as server:
            server.deny("system:anonymous")
            with server.client("alice") as alice, server.client() as nobody:
                assert list(alice.list("pods")) == []
                with pytest.raises(Exception, match="system:anonymous"):
                    nobody.list("pods")

    def test_certificate(self, api_ca: TestCA) -> None:
        """A certificate works with kwsync as it does with others."""
        with ApiServer(tls=api_ca, anonymous=False) as server:
            cert = server.certificate_for("alice")
            credential = ClientCertificate(certificate=cert.cert_pem, key=cert.key_pem)
            with Client(Cluster(server.url, ca_data=api_ca.pem), credential) as client:
                assert list(client.list("pods")) == []

    @pytest.mark.parametrize("certificate", [False, True])
    def test_kubeconfig(self, api_ca: TestCA, tmp_path: Path, certificate: bool) -> None:
        """A kubeconfig, written as JSON, brings a user in."""
        with ApiServer(tls=api_ca, anonymous=False) as server:
            server.deny()
            server.allow("team")
            config = server.kubeconfig("alice", groups=["team"], namespace="here", certificate=certificate)
            path = tmp_path / "config"
            path.write_text(json.dumps(config))
            with Client.from_kubeconfig(path) as client:
                assert list(client.list("pods")) == []
                assert client.cluster.namespace == "here"

    def test_kubeconfig_of_nobody(self, api_server: ApiServer) -> None:
        """Without a user there are no credentials in it."""
        assert api_server.kubeconfig()["users"] == [{"name": "kwsync", "user": {}}]
