"""The clouds' libraries log nothing on a thread of ours, and on others what they like."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwsync.credentials._silence import silence
from kwsync.testing import TestCA
from tests.client.support import LIMIT, Running
from tests.credentials.azure_endpoints import TENANT, AzureEndpoint
from tests.credentials.lives import SECRET, isolate
from tests.credentials.token_endpoint import Answer

NAMES = ("azure.x", "botocore.x", "google.auth.x", "msal", "requests.x", "urllib3.connectionpool")


class Heard(logging.Handler):
    """Remembers what arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(record.getMessage())


@pytest.fixture
def heard() -> Iterator[Heard]:
    """What their own handlers get, at every level: some of the libraries' loggers pass nothing on to the root."""
    handler = Heard()
    loggers = [logging.getLogger(name) for name in (*NAMES, "other")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
    yield handler
    for logger, level in zip(loggers, before, strict=True):
        logger.removeHandler(handler)
        logger.setLevel(level)


@pytest.mark.parametrize("name", NAMES)
def test_here_alone(name: str, heard: Heard) -> None:
    """Within the block this thread's is dropped, another's is not, and behind it everything is heard."""
    logger = logging.getLogger(name)
    with silence():
        with silence():
            logger.critical("inner")
        logger.critical("here")
        Running(lambda: logger.debug("elsewhere")).result()
        logging.getLogger("other").debug("of another")
    logger.debug("behind")
    assert heard.told == ["elsewhere", "of another", "behind"]


def test_after_an_error(heard: Heard) -> None:
    """A block that fails is over, too."""
    with pytest.raises(ValueError, match="x"), silence():
        raise ValueError("x")
    logging.getLogger("msal").debug("behind")
    assert heard.told == ["behind"]


def test_one_filter(heard: Heard) -> None:
    """However often, a logger has one filter of ours."""
    logger = logging.getLogger("botocore.x")
    with silence():
        count = len(logger.filters)
    for _ in range(3):
        with silence(), silence():
            assert len(logger.filters) == count


def test_another_leaves(heard: Heard) -> None:
    """While a logger asks its filters for one thread, another leaves its block: nothing is let through by that."""
    logger = logging.getLogger("botocore.x")
    inside, asking, left = threading.Event(), threading.Event(), threading.Event()

    def hold(record: logging.LogRecord) -> bool:
        """One of the user's, between the filters of two who are silent."""
        asking.set()
        return left.wait(LIMIT)

    def leave() -> None:
        with silence():
            inside.set()
            assert asking.wait(LIMIT), "nothing was logged"
        left.set()

    def log() -> None:
        with silence():
            logger.debug(SECRET)
        asking.set()

    other = Running(leave)
    assert inside.wait(LIMIT)
    logger.addFilter(hold)
    try:
        Running(log).result()
        other.result()
    finally:
        logger.removeFilter(hold)
    assert heard.told == []


FIRST_USE = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
from kwsync import Cluster
from kwsync.credentials import AuthContext, AzureEntra, CredentialError
assert "azure" not in sys.modules
url, tenant, secret = sys.argv[1:]
entra = AzureEntra(client_secret=secret, client_id="made-up", tenant_id=tenant, authority_host=url,
    disable_instance_discovery=True)
try:
    entra.authorize(AuthContext(Cluster("https://example.test"), lambda: None))
except CredentialError as error:
    print(f"told: {error}")  # in one piece, since another thread writes, too
"""


def test_first_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So it is in a process that has not imported the library yet, which makes its loggers at its first use."""
    pytest.importorskip("azure.identity")
    isolate(monkeypatch, tmp_path)
    authority = TestCA()
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority.write(tmp_path)))
    with AzureEndpoint(authority.server_context()) as entra:
        echo = {"error": "invalid_client", "error_description": f"AADSTS7000215: {SECRET}"}
        entra.answer_to_tokens = Answer(echo, 401)
        command = [sys.executable, "-c", FIRST_USE, entra.url, TENANT, SECRET]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "told: Entra gave no access token" in done.stdout
    assert SECRET not in done.stdout
