"""B180: what a plugin is told of the cluster, in KUBERNETES_EXEC_INFO."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kwsync import Cluster
from kwsync.credentials._exec._info import exec_info, place_of, told_of
from tests.credentials.plugins import V1, V1BETA1

PEM = b"-----BEGIN CERTIFICATE-----\nbWFkZSB1cA==\n-----END CERTIFICATE-----\n"
SERVER = "https://example.test:6443"


def told(cluster: Cluster, authority: bytes | None = None, config: bytes | None = None) -> dict[str, Any]:
    return told_of(place_of(cluster), authority, config)


class TestB180Info:
    @pytest.mark.parametrize("version", [V1, V1BETA1])
    @pytest.mark.parametrize("interactive", [True, False])
    def test_without_cluster(self, version: str, interactive: bool) -> None:
        """An ExecCredential of the version that is wanted; interactive is always told."""
        expected = {"kind": "ExecCredential", "apiVersion": version, "spec": {"interactive": interactive}}
        assert json.loads(exec_info(version, interactive, None)) == expected

    def test_all(self) -> None:
        """All that a cluster has, in a kubeconfig's words."""
        cluster = Cluster(
            SERVER,
            tls_server_name="other.test",
            proxy_url="http://proxy.test:8080",
            namespace="team",
            name="dev",
        )
        assert told(cluster, PEM, b'{"audience":["a",1]}') == {
            "server": SERVER,
            "tls-server-name": "other.test",
            "certificate-authority-data": base64.b64encode(PEM).decode(),
            "proxy-url": "http://proxy.test:8080",
            "config": {"audience": ["a", 1]},
        }

    def test_least(self) -> None:
        """What is empty is left out."""
        assert told(Cluster(SERVER)) == {"server": SERVER}
        assert told(Cluster(SERVER, skip_tls_verify=True)) == {"server": SERVER, "insecure-skip-tls-verify": True}

    @pytest.mark.parametrize("config", [b"{}", b"[]", b"0", b'"text"', b"false"])
    def test_any_config(self, config: bytes) -> None:
        """The cluster's own part may be any JSON."""
        assert told(Cluster(SERVER), config=config)["config"] == json.loads(config)

    def test_base64_of_base64(self) -> None:
        """An authority that is base64 already stays as it is."""
        lines = base64.encodebytes(PEM)
        assert told(Cluster(SERVER), lines)["certificate-authority-data"] == base64.b64encode(PEM).decode()

    def test_json(self) -> None:
        """The cluster is part of the whole, and letters of all languages arrive."""
        text = exec_info(V1, False, {"server": "https://é.test"})
        assert json.loads(text)["spec"] == {"interactive": False, "cluster": {"server": "https://é.test"}}

    def test_same_place(self, tmp_path: Path) -> None:
        """What a plugin is not told makes no difference to it."""
        one = Cluster(SERVER, ca_file=tmp_path, namespace="a", name="b", auth_metadata={"c": "d"})
        assert place_of(one) == place_of(Cluster(SERVER, ca_file=str(tmp_path)))
        assert place_of(Cluster(SERVER, ca_data="x")) == place_of(Cluster(SERVER, ca_data=b"x"))
        assert place_of(one) != place_of(Cluster(SERVER))
