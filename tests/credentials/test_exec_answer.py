"""B181: what a plugin writes to standard output is an ExecCredential, or an error that does not show it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync.credentials import Authorization, Certificate, CredentialError, Issued
from kwsync.credentials._exec._answer import read_answer
from tests.credentials.plugins import SECRET, V1, V1BETA1, answer
from tests.values import json_values

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nbWFkZSB1cA==\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nbWFkZSB1cA==\n-----END PRIVATE KEY-----\n"
PAIR = {"clientCertificateData": CERTIFICATE, "clientKeyData": KEY}


def read(document: Any, api_version: str = V1) -> Issued:
    return read_answer(json.dumps(document).encode(), api_version)


def refused(document: Any, api_version: str = V1) -> str:
    """The error, which shows nothing of what was written, nor does what lies below it."""
    with pytest.raises(CredentialError) as caught:
        read(document, api_version)
    below: BaseException | None = caught.value
    while below is not None:
        assert SECRET not in f"{below!r}"
        below = below.__cause__ or below.__context__
    return str(caught.value)


class TestB181Good:
    @pytest.mark.parametrize("version", [V1, V1BETA1])
    def test_token(self, version: str) -> None:
        """A token is a bearer token, without the white space around it."""
        assert read(answer(version, token="one\n"), version) == Issued(Authorization.bearer("one"))

    def test_certificate(self) -> None:
        """A certificate with its key is a client certificate."""
        pair = Certificate(CERTIFICATE.encode(), KEY.encode())
        assert read(answer(**PAIR)) == Issued(Authorization(certificate=pair))

    def test_both(self) -> None:
        """Both go together."""
        authorization = read(answer(token="one", **PAIR)).authorization
        assert authorization.headers == {"Authorization": "Bearer one"}
        assert authorization.certificate == Certificate(CERTIFICATE.encode(), KEY.encode())

    def test_more(self) -> None:
        """What is not known is passed over, and null and empty count as absent."""
        document = answer(token="one", expirationTimestamp=None, clientKeyData="", clientCertificateData=None, new=1)
        assert read(document | {"spec": {"interactive": False}}) == Issued(Authorization.bearer("one"))


class TestB181Bad:
    @pytest.mark.parametrize("output", [b"", b" \n"])
    def test_nothing(self, output: bytes) -> None:
        """A program that writes nothing is told so."""
        with pytest.raises(CredentialError, match="wrote nothing to standard output"):
            read_answer(output, V1)

    @pytest.mark.parametrize("output", [SECRET, f'{{"token": "{SECRET}"', f"[{SECRET}]", '"text"', "[]", "null", "1"])
    def test_no_object(self, output: str) -> None:
        """So is one that writes no JSON object."""
        with pytest.raises(CredentialError, match="something else than a JSON object") as caught:
            read_answer(output.encode(), V1)
        assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}"

    @pytest.mark.parametrize("kind", ["Secret", None, 1, "execcredential"])
    def test_kind(self, kind: object) -> None:
        """Another kind is an error."""
        assert "another kind" in refused(answer(token=SECRET) | {"kind": kind})

    @pytest.mark.parametrize(("asked", "given"), [(V1, V1BETA1), (V1BETA1, V1), (V1, None), (V1, "v1")])
    def test_version(self, asked: str, given: object) -> None:
        """So is another version than was asked for."""
        assert asked in refused(answer(token=SECRET) | {"apiVersion": given}, asked)

    @pytest.mark.parametrize(
        ("status", "words"),
        [
            (None, "without a status"),
            ([SECRET], "status is no object"),
            (SECRET, "status is no object"),
            ({}, "neither a token nor a client certificate"),
            ({"token": ""}, "neither a token nor a client certificate"),
            ({"clientCertificateData": CERTIFICATE}, "a client certificate without a key"),
            ({"clientKeyData": SECRET}, "a client key without a certificate"),
            ({"token": SECRET, "clientKeyData": SECRET}, "a client key without a certificate"),
            ({"clientCertificateData": SECRET, "clientKeyData": KEY}, "not PEM"),
            ({"clientCertificateData": CERTIFICATE, "clientKeyData": SECRET}, "not PEM"),
            ({"token": [SECRET]}, "token is no text"),
            ({"token": f"{SECRET} {SECRET}"}, "token that cannot be used: the bearer token holds white space"),
            ({"token": " \n"}, "token that cannot be used: the bearer token is empty"),
        ],
    )
    def test_status(self, status: object, words: str) -> None:
        """Each lack has its words."""
        assert words in refused(answer() | {"status": status})


class TestB182Expiry:
    @pytest.mark.parametrize(
        ("text", "seconds"),
        [
            ("1970-01-01T00:00:00Z", 0.0),
            ("2026-11-30T22:00:00Z", 1796076000.0),
            ("2026-11-30T22:00:00.5Z", 1796076000.5),
            ("2026-11-30T22:00:00.123456789Z", 1796076000.123456789),
            ("2026-11-30t22:00:00z", 1796076000.0),
            ("2026-11-30T23:30:00+01:30", 1796076000.0),
            ("2026-11-30T20:00:00-02:00", 1796076000.0),
        ],
    )
    def test_good(self, text: str, seconds: float) -> None:
        """RFC 3339 in all its forms, on every Python."""
        assert read(answer(token="one", expirationTimestamp=text)).expires_at == pytest.approx(seconds, abs=1e-6)

    @pytest.mark.parametrize(
        "text",
        [SECRET, "2026-11-30", "2026-11-30T22:00:00", "2026-13-30T22:00:00Z", "2026-11-30T22:00:00+99:00", "1796076000"]
        + ["2026-11-30T22:00:00Z ", "٢026-11-30T22:00:00Z"],
    )
    def test_bad(self, text: str) -> None:
        """Anything else is an error: a token of which nobody knows how long it lasts may be an old one."""
        assert "expirationTimestamp" in refused(answer(token=SECRET, expirationTimestamp=text))

    def test_number(self) -> None:
        """So is a number."""
        assert "expirationTimestamp is no text" in refused(answer(token=SECRET, expirationTimestamp=5))

    @given(
        st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29)),
        st.integers(-23 * 60, 23 * 60),
    )
    def test_any(self, naive: datetime, offset: int) -> None:
        """Every moment of the calendar, in every zone, is read as what it is."""
        when = naive.replace(tzinfo=timezone(timedelta(minutes=offset)))
        found = read(answer(token="one", expirationTimestamp=when.isoformat())).expires_at
        assert found == pytest.approx((when - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds(), abs=1e-4)


FIELDS = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(["token", *PAIR, "expirationTimestamp"], json_values | st.just(CERTIFICATE) | st.just("x")),
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "kind": st.just("ExecCredential") | json_values,
            "apiVersion": st.just(V1) | json_values,
            "status": FIELDS | json_values,
        },
    )
    | json_values
)
def test_any_answer(document: Any) -> None:
    """Any JSON is a credential or a CredentialError, never another exception."""
    try:
        found = read_answer(json.dumps(document).encode(), V1)
    except CredentialError:
        return
    assert found.authorization.headers or found.authorization.certificate


@given(st.binary(max_size=40))
def test_any_bytes(output: bytes) -> None:
    """So are any bytes."""
    with pytest.raises(CredentialError):
        read_answer(output, V1)
