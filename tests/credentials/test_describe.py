"""Credentials in words, and what certificates and tokens say of themselves."""

from __future__ import annotations

import base64
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from kwsync.credentials import (
    Anonymous,
    Authorization,
    BasicAuth,
    BearerToken,
    Cached,
    ClientCertificate,
    CredentialDescription,
    Issued,
    ServiceAccount,
    TokenFile,
    describe,
)
from kwsync.credentials._combined import Combined
from kwsync.credentials._der import elements, facts_of
from kwsync.credentials._describe import NOWHERE
from kwsync.credentials._unavailable import Unavailable

SECRET = "made-up-secret"
LEAF = trustme.CA().issue_cert("bob@x.test", common_name="bö b", organization_name="dev")
PEM = LEAF.cert_chain_pems[0].bytes()
DER = x509.load_pem_x509_certificate(PEM).public_bytes(Encoding.DER)


def jwt(claims: object) -> str:
    """A token with these claims and a made-up signature."""
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{body}.{SECRET}"


class TestCertificates:
    def test_facts(self) -> None:
        """Names and times are those that cryptography reads, also before 1950 + 100 and behind 2049."""
        for end in (datetime(2049, 12, 31, 23, 59, 59), datetime(2050, 1, 1), datetime(1999, 1, 1)):
            leaf = trustme.CA().issue_cert(
                "a@x.test",
                common_name="bö b",
                organization_name="dev",
                not_before=datetime(1960, 1, 2, 3, 4, 5),
                not_after=end,
            )
            facts = facts_of(b"text before\n" + leaf.cert_chain_pems[0].bytes())

            assert facts is not None
            assert (facts.common_name, facts.organizations) == ("bö b", ("dev",))
            assert facts.begins_at == datetime(1960, 1, 2, 3, 4, 5, tzinfo=timezone.utc).timestamp()
            assert facts.expires_at == end.replace(tzinfo=timezone.utc).timestamp()

    @given(data=st.data())
    def test_damaged(self, data: st.DataObject) -> None:
        """Whatever is damaged, there are facts or none, and never an exception."""
        at = data.draw(st.integers(0, len(DER) - 1))
        other = DER[:at] + data.draw(st.binary(max_size=3)) + DER[at + data.draw(st.integers(0, 3)) :]
        pem = b"-----BEGIN CERTIFICATE-----\n" + base64.b64encode(other) + b"\n-----END CERTIFICATE-----\n"

        facts_of(pem)
        elements(other)

    @given(junk=st.binary(max_size=60))
    def test_junk(self, junk: bytes) -> None:
        """What is no certificate has no facts."""
        assert facts_of(junk) is None
        assert facts_of(b"-----BEGIN CERTIFICATE-----" + junk + b"-----END CERTIFICATE-----") is None
        assert b"".join(elements(junk)) in (b"", junk)

    def test_elements(self) -> None:
        """Certificates one behind another come apart."""
        assert elements(DER * 3) == [DER] * 3


class TestClaims:
    @pytest.mark.parametrize(
        ("token", "user", "end"),
        [
            (jwt({"sub": "bob", "exp": 2e9, "groups": ["dev", 1]}), "bob", 2e9),
            (jwt({"sub": ["bob"], "exp": "soon"}), "", None),
            (jwt({"exp": True}), "", None),
            (jwt({"exp": 1e300}), "", None),
            (jwt([]), "", None),
            (jwt({"exp": -1}), "", None),
            ("a.b.c", "", None),
            ("a.*.c", "", None),
            (f"a.{'W' * 40}.c", "", None),
            (SECRET, "", None),
        ],
    )
    def test_token(self, token: str, user: str, end: float | None) -> None:
        """A JWT says whose it is and until when; of any other token nothing is known."""
        found = describe(BearerToken(token))
        assert (found.kind, found.user, found.expires_at, found.problem) == ("bearer token", user, end, None)


class Own:
    """A user's own, that describes itself in whatever way."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def describe(self) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class TestDescribe:
    def test_kinds(self, tmp_path: Path) -> None:
        """Each way has words for itself, which show no secret."""
        (tmp_path / "token").write_text(jwt({"sub": "bob", "exp": 3e9}))
        LEAF.private_key_pem.write_to_path(str(tmp_path / "key"))
        (tmp_path / "crt").write_bytes(PEM)
        certificate = ClientCertificate(certificate_file=tmp_path / "crt", key_file=tmp_path / "key")
        ways = [
            (Anonymous(), "none (anonymous)", ""),
            (BasicAuth("me", SECRET), "user name and password", ""),
            (TokenFile(tmp_path / "token"), "token file", f"{tmp_path}/token"),
            (ServiceAccount(str(tmp_path)), "token of the pod's service account", f"{tmp_path}/token"),
            (certificate, "client certificate", f"{tmp_path}/crt, {tmp_path}/key"),
            (Combined([certificate, BearerToken(SECRET)]), "client certificate and bearer token", None),
            (Unavailable("no"), "none", ""),
            (Cached(lambda: Issued(Authorization()), name="vault"), "vault", ""),
        ]
        for way, kind, source in ways:
            found = describe(way)
            assert found.kind == kind
            assert source is None or found.source == source
            assert SECRET not in repr(found)

    def test_together(self) -> None:
        """Several in one last as long as the first that ends, and are somebody if one of them is."""
        both = describe(Combined([BearerToken(jwt({"exp": 10})), BearerToken(jwt({"exp": 9, "sub": "bob"}))]))
        assert (both.expires_at, both.user) == (9.0, "bob")
        assert describe(Combined([Anonymous(), Unavailable("no")])).problem == "no"

    def test_problem(self, tmp_path: Path) -> None:
        """What cannot be had is told with its reason."""
        assert describe(Unavailable("no way")).problem == "no way"
        assert "cannot be read" in str(describe(TokenFile(tmp_path / "token")).problem)
        assert SECRET not in str(describe(BearerToken(f"{SECRET}\n{SECRET}")))

    def test_cached(self) -> None:
        """What is fetched is told once it is there, and never fetched for that."""
        end = (datetime.now(timezone.utc) + timedelta(hours=1)).timestamp()
        cached = Cached(lambda: Issued(Authorization.bearer(jwt({"sub": "bob"})), end), name="vault")
        assert describe(cached) == CredentialDescription(kind="vault")
        cached.authorize(NOWHERE)
        assert (describe(cached).user, describe(cached).expires_at) == ("bob", end)

    @pytest.mark.parametrize("found", [None, {"kind": SECRET}, RuntimeError(SECRET)])
    def test_bad_own(self, found: object) -> None:
        """A user's own describe() may give or raise anything: it is told, without what it holds."""
        told = describe(Own(found))
        assert (told.kind, len(told.notes)) == ("Own", 1)
        assert SECRET not in repr(told)

    def test_own(self) -> None:
        """A user's own may describe itself; else its class is told."""
        own = CredentialDescription(kind="vault", user="bob")
        assert describe(Own(own)) is own
        assert describe(object()).kind == "object"
        assert describe(Own).kind == "type"
