"""Recorded exchanges, read and served."""

from __future__ import annotations

import http.client
from pathlib import Path

import pytest

from kwsync.testing import Fin, RawBytes, ScriptedServer, Transcript

TRANSCRIPTS = Path(__file__).parent.parent / "transcripts"
PATHS = sorted(TRANSCRIPTS.glob("*.http"))


def test_watch() -> None:
    """A watch is read into its request, its answer, its events and the times of its reads."""
    recorded = Transcript.read(TRANSCRIPTS / "watch-no-rv.http")
    assert recorded.request_line.startswith("GET /api/v1/namespaces/demo/configmaps?watch=1")
    assert recorded.request_headers["authorization"] == "Bearer REDACTED"
    assert (recorded.body, recorded.status, recorded.ending) == (b"", 200, "zero-chunk")
    assert recorded.answer_headers["transfer-encoding"] == "chunked"
    assert {event["type"] for event in recorded.events} == {"ADDED"}
    assert b"".join(recorded.pieces) == recorded.answer
    assert len(recorded.pieces) == len(recorded.reads) > 1


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_every_transcript_can_be_read(path: Path) -> None:
    """Every recording has a request, a status line, and as many bytes as its times say."""
    recorded = Transcript.read(path)
    assert recorded.request_line.endswith(" HTTP/1.1")
    assert recorded.answer.startswith(b"HTTP/1.1 ")
    assert recorded.status >= 200
    assert len(recorded.body) == int(recorded.request_headers.get("Content-Length", "0"))
    if recorded.reads and path.stem != "watch-watchlist-gzip":  # Its body is cut.
        assert recorded.reads[-1][1] == len(recorded.answer)


@pytest.mark.parametrize("name", ["list-plain", "list-big", "watch-no-rv", "watch-rv-unparsable"])
def test_served_as_it_is(name: str, server: ScriptedServer) -> None:
    """A recorded answer can be served again, and a client reads the recorded body."""
    recorded = Transcript.read(TRANSCRIPTS / f"{name}.http")
    server.add(RawBytes(recorded.answer, keep_alive=True))
    server.add(Fin())
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5.0)
    connection.request("GET", "/")
    response = connection.getresponse()
    assert (response.status, response.read()) == (recorded.status, recorded.answer_body)
    connection.close()
