"""The recorded answers of a real API server, as these tests compare with them."""

from __future__ import annotations

import json
from typing import Any

from kwsync.testing._transcripts import Transcript
from tests.recorded import TRANSCRIPTS


def transcript(name: str) -> Transcript:
    """The exchange of this name."""
    return Transcript.read(TRANSCRIPTS / f"{name}.http")


def body(name: str) -> Any:
    """The JSON of an answer."""
    return json.loads(transcript(name).answer_body)


def event(name: str, index: int = 0) -> Any:
    """The object of one of its watch events."""
    return transcript(name).events[index]["object"]
