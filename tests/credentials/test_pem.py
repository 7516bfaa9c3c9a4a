"""One rule for PEM, or base64 of PEM, in all places that take it: whole, or an error that does not show it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync import Client, Cluster, ConfigError
from kwsync._transport._authorities import Authorities
from kwsync.credentials import (
    AuthContext,
    Authorization,
    AzureEntra,
    Certificate,
    ClientCertificate,
    CredentialError,
    GoogleServiceAccount,
    ServiceAccount,
    TokenFile,
)
from kwsync.credentials._der import elements
from kwsync.credentials._exec._info import place_of, told_of
from kwsync.credentials._pem import is_whole, pem_of, pem_of_der
from tests.credentials.plugins import Program, context_of, proof_of

PEM = b"-----BEGIN CERTIFICATE-----\nbWFkZSB1cA==\n-----END CERTIFICATE-----\n"
CONTEXT: AuthContext = context_of()


def certificate(data: bytes, _folder: Path) -> bytes:
    """As a client certificate's data."""
    return pair_of(ClientCertificate(certificate=data, key=PEM).authorize(CONTEXT)).certificate


def key(data: bytes, _folder: Path) -> bytes:
    """As a client certificate's key."""
    return pair_of(ClientCertificate(certificate=PEM, key=data).authorize(CONTEXT)).key


def authority(data: bytes, _folder: Path) -> bytes:
    """As a cluster's authority."""
    return (Authorities(Cluster("https://example.test", ca_data=data), lambda _: None).pem() or "").encode()


class Configuration:
    """As much of the official client's as is asked for."""

    host, api_key, verify_ssl, ssl_ca_cert, cert_file, key_file = "https://example.test", "", True, "", "", ""

    def __init__(self, data: bytes) -> None:
        self.ca_cert_data = data


def official(data: bytes, _folder: Path) -> bytes:
    """As the official client's authority."""
    found = Client.from_kubernetes(Configuration(data)).cluster.ca_data
    assert isinstance(found, bytes)
    return found


def answered(data: bytes, folder: Path) -> bytes:
    """As a plugin's certificate, which is PEM and never base64 of it."""
    program = Program(folder)
    program.gives(clientCertificateData=data.decode(), clientKeyData=PEM.decode())
    return pair_of(proof_of(program.plugin())).certificate


def pair_of(proof: Authorization) -> Certificate:
    """What a request proves itself with."""
    assert proof.certificate is not None
    return proof.certificate


Place = Callable[[bytes, Path], bytes]
places = pytest.mark.parametrize("place", [certificate, key, authority, official, answered])


@places
class TestPlaces:
    def test_whole(self, place: Place, tmp_path: Path) -> None:
        """PEM is taken as it is, with several certificates too."""
        assert place(PEM * 2, tmp_path) == PEM * 2

    def test_base64(self, place: Place, tmp_path: Path) -> None:
        """Base64 of it, broken into lines, is decoded; a plugin has no such thing."""
        wrapped = base64.encodebytes(PEM * 3)
        if place is answered:
            with pytest.raises(CredentialError, match="not PEM"):
                place(wrapped, tmp_path)
        else:
            assert place(wrapped, tmp_path) == PEM * 3

    @pytest.mark.parametrize(
        "cut", [PEM[:-28], PEM + PEM[:40], b"bWFkZSB1cA==", b"made up"], ids=["end", "second", "base64", "text"]
    )
    def test_cut(self, place: Place, cut: bytes, tmp_path: Path) -> None:
        """What is cut, or is none, is an error that does not show it."""
        with pytest.raises(ConfigError, match="PEM") as caught:
            place(cut, tmp_path)
        assert not any(secret in str(caught.value) for secret in ("bWFk", "made"))


def test_told_to_a_plugin() -> None:
    """A plugin is told base64 of the authority, however that was given."""
    place = place_of(Cluster("https://example.test"))
    for given_as in (PEM, base64.encodebytes(PEM), base64.b64encode(PEM)):
        assert base64.b64decode(told_of(place, given_as, None)["certificate-authority-data"]) == PEM


@given(st.lists(st.binary(min_size=1), min_size=1), st.integers(2, 47))
def test_any_pem(blocks: list[bytes], cut: int) -> None:
    """Whole PEM and base64 of it are the same; without its end, or a part of that, it is neither."""
    pem = b"".join(map(pem_of_der, blocks))
    assert pem_of(pem) == pem_of(pem.decode()) == pem_of(base64.encodebytes(pem)) == pem
    assert pem_of(pem[:-cut]) is None


@given(st.binary() | st.text())
def test_anything(data: Any) -> None:
    """Whatever is given is whole PEM, or nothing."""
    found = pem_of(data)
    assert found is None or is_whole(found)


def test_der() -> None:
    """The bytes of certificates one behind another become as many blocks."""
    der = [b"\x30\x03\x02\x01\x05", b"\x30\x00"]
    assert [pem_of_der(one).count(b"BEGIN") for one in elements(b"".join(der))] == [1, 1]


@pytest.mark.parametrize(
    "make",
    [
        TokenFile,
        ServiceAccount,
        lambda path: ClientCertificate(certificate_file=path, key="x"),
        lambda path: ClientCertificate(certificate="x", key_file=path),
        lambda path: GoogleServiceAccount(key_file=path),
        lambda path: AzureEntra(source="workload_identity", token_file=path),
    ],
)
def test_paths_are_text(make: Callable[[Any], object]) -> None:
    """A path is text or a Path. Bytes are refused at once, wherever a credential takes a path."""

    class Odd:
        def __fspath__(self) -> bytes:
            return b"/nowhere"

    for path in (b"/nowhere", Odd(), 5):
        with pytest.raises(TypeError):
            make(path)
    make("/nowhere")
    make(Path("/nowhere"))
