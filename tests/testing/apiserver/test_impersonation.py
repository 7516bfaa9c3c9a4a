"""Requests in the name of somebody else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from kwsync.testing import ApiServer
from tests.testing.apiserver.wire import MAPS, Http

REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture
def alice(api_server: ApiServer) -> Iterator[Http]:
    """A connection of a user."""
    token = api_server.token_for("alice")
    with contextlib.closing(Http(api_server, Authorization=f"Bearer {token}")) as client:
        yield client


class TestPersona:
    @pytest.mark.parametrize(
        ("headers", "groups"),
        [
            ({"Impersonate_User": "jane"}, ["system:authenticated"]),
            ({"Impersonate_User": "jane", "Impersonate_Group": "dev"}, ["dev", "system:authenticated"]),
            (
                {"Impersonate_User": "system:serviceaccount:demo:robot"},
                ["system:serviceaccounts", "system:serviceaccounts:demo", "system:authenticated"],
            ),
        ],
    )
    def test_who_one_is(self, alice: Http, headers: dict[str, Any], groups: list[str]) -> None:
        """One is that user, in the groups that were asked for and those that such a user is in anyhow."""
        info = alice("POST", REVIEW, {}, **headers).body["status"]["userInfo"]
        assert info == {"username": headers["Impersonate_User"], "groups": groups}

    def test_rights(self, api_server: ApiServer, alice: Http) -> None:
        """The rights are those of the other, be they less or more."""
        api_server.deny("jane")
        answer = alice("GET", MAPS, Impersonate_User="jane")
        assert answer.status == 403
        assert 'User "jane" cannot list' in answer.body["message"]
        assert alice("GET", MAPS, Impersonate_User="jane", Impersonate_Group="system:masters").status == 200

    @pytest.mark.parametrize("header", ["Impersonate_Group", "Impersonate_Uid", "Impersonate_Extra_Scopes"])
    def test_without_a_name(self, alice: Http, header: str) -> None:
        """Who wants to be in a group has to say as whom."""
        headers: dict[str, Any] = {header: "x"}
        answer = alice("GET", MAPS, **headers)
        assert answer.status == 400
        assert "without impersonating a user name" in answer.body["message"]


class TestRight:
    def test_denied(self, api_server: ApiServer, alice: Http) -> None:
        """It takes the right to impersonate; whoever may nothing has not got it, and is told so."""
        for rule in ({}, {"verbs": "impersonate"}, {"verbs": "impersonate", "resources": "users"}):
            api_server.allow_everything()
            api_server.deny("alice", **rule)
            answer = alice("GET", MAPS, Impersonate_User="jane")
            assert answer.status == 403
            assert 'User "alice" cannot impersonate resource "users"' in answer.body["message"]
            assert answer.body["details"] == {"name": "jane", "kind": "users"}

    def test_groups_and_accounts(self, api_server: ApiServer, alice: Http) -> None:
        """Groups and service accounts need a right of their own, which may be for some names alone."""
        api_server.deny("alice", verbs="impersonate")
        api_server.allow("alice", verbs="impersonate", resources="users", names="jane")
        api_server.allow("alice", verbs="impersonate", resources="serviceaccounts", namespaces="demo")
        asked: list[tuple[dict[str, Any], int]] = [
            ({"Impersonate_User": "jane"}, 200),
            ({"Impersonate_User": "joe"}, 403),
            ({"Impersonate_User": "jane", "Impersonate_Group": "dev"}, 403),
            ({"Impersonate_User": "system:serviceaccount:demo:robot"}, 200),
            ({"Impersonate_User": "system:serviceaccount:other:robot"}, 403),
        ]
        for headers, status in asked:
            assert alice("GET", MAPS, **headers).status == status, headers

    def test_everywhere(self, api_server: ApiServer, alice: Http) -> None:
        """Also for discovery, and for paths that are nothing."""
        api_server.deny("alice", verbs="impersonate")
        for path in ("/api", "/version", "/nosuch", "/api/v1/nosuch"):
            assert alice("GET", path, Impersonate_User="jane").status == 403
