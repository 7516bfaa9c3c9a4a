"""What is told of another library's failure: class, first cause, public codes and a hint, and never its text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kwsync.credentials import CredentialError
from kwsync.credentials._reason import ask_library, load_library, reason_of

SECRET = "made-up-secret"


class Odd(Exception):
    """One with whatever in `response`."""

    def __init__(self, response: object) -> None:
        super().__init__(SECRET)
        self.response = response


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError(SECRET)


@pytest.mark.parametrize(
    "response",
    [None, {}, [], "Error", 5, object(), {"Error": None}, {"Error": []}, {"Error": {}}, {"Error": {"Code": None}}]
    + [{"Error": {"Code": code}} for code in (5, f"{SECRET}-1", "", "a b", 41 * "a", "a\n")],
)
def test_odd_responses(response: object) -> None:
    """An exception may have anything where botocore's have an answer, or nothing."""
    assert reason_of(Odd(response)) == "Odd"


def test_code() -> None:
    """A code is told, one that cannot be a secret."""
    assert reason_of(Odd({"Error": {"Code": "AccessDenied", "Message": SECRET}})) == "Odd (AccessDenied)"
    assert reason_of(ValueError(f"AADSTS7000215: {SECRET} invalid_client")) == (
        "ValueError (AADSTS7000215, invalid_client)"
    )


def test_every_class_of_botocore() -> None:
    """Whatever botocore can raise has a reason, which begins with its name and shows none of its text."""
    exceptions = pytest.importorskip("botocore.exceptions")
    found = [kind for kind in vars(exceptions).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(found) > 50
    for kind in found:
        error = kind.__new__(kind, SECRET)
        for attribute in ("response", "request"):
            setattr(error, attribute, None)
        assert reason_of(error).startswith(kind.__name__)
        assert SECRET not in reason_of(error)


def test_first_cause() -> None:
    """The class of what first caused it is told, also where exceptions lead in a circle."""
    error = ValueError(SECRET)
    error.__context__ = OSError(SECRET)
    assert reason_of(error) == "ValueError from OSError"
    one, two = ValueError(), KeyError()
    one.__cause__, two.__cause__ = two, one
    assert reason_of(one) == "ValueError from KeyError"


def test_mute() -> None:
    """One whose text fails has none."""
    assert reason_of(Mute()) == "Mute"


class TestAsk:
    def test_given(self) -> None:
        """What is given is passed on."""
        assert ask_library(lambda: 5, "no") == 5

    def test_ours(self) -> None:
        """Our own error keeps its words, and nothing leads from it to what it came from."""

        def ask() -> object:
            try:
                raise ValueError(SECRET)
            except ValueError:
                raise CredentialError("why") from None

        assert told(lambda: ask_library(ask, "no")) == "why"

    def test_others(self) -> None:
        """Another is told by its reason, between what failed and what to do."""

        def ask() -> object:
            raise ValueError(SECRET)

        assert told(lambda: ask_library(ask, "no token", ": do this")) == "no token: ValueError: do this"

    @pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
    def test_ends(self, raised: type[BaseException]) -> None:
        """What ends a program is passed on."""

        def ask() -> object:
            raise raised

        with pytest.raises(raised):
            ask_library(ask, "no")

    def test_missing(self) -> None:
        """A library that is missing is told with the extra that has it."""

        def load() -> object:
            raise ModuleNotFoundError(SECRET)

        assert told(lambda: load_library(load, "it needs x", "y", " (or not)")) == (
            'it needs x: pip install "kwsync[y]" (or not)'
        )
        assert load_library(lambda: 5, "it needs x", "y") == 5


def told(call: Callable[[], Any]) -> str:
    """The error's text; the error stands alone."""
    with pytest.raises(CredentialError) as caught:
        call()
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    return str(caught.value)
