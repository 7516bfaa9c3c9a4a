"""Each statement from B174 to B190 has a test of its name; those about plugins are tried beside the plugin."""

from __future__ import annotations

import re
from pathlib import Path

NUMBERS = (174, 175, 176, 177, 178, 185, 187, 188, 189, 190)
"""B179 to B184 and B186 are about exec plugins."""

DIFFERENT = {
    "B175": "no token at the first request is an error of that request; nothing is read when the credential is made",
    "B176": "after a 401 the file is read at once and the request sent once more; an Authorization of the caller gives "
    "way to the credential's, which can be refreshed",
    "B177": "a CA file that cannot be read is an error, and the system's authorities are not trusted instead",
    "B185": "watches end with an ERROR that says why, verbs that are under way get their answer, and a certificate "
    "that the server refuses closes nothing",
    "B187": "the files are looked at before each request, not by the clock, so while only watches run a change is "
    "noticed when the first of them ends; what cannot be read is tried again at each request",
    "B188": "the file is looked at before each request, not every five minutes",
    "B189": "of a Cluster made by a program skip_tls_verify wins over an authority, as in Backstage; in a kubeconfig "
    "both are an error; there is no custom transport",
    "B190": "ten seconds for name, connection, proxy and TLS together; eight idle connections; 30 seconds for a verb. "
    "(tests/watch/test_deadlines.py, tests/client/test_connections.py, tests/test_proxy_choice.py)",
}
"""Where kwsync does something else than client-go, on purpose; the tests are about that."""


def test_every_statement() -> None:
    """No statement is forgotten."""
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py")]
    names = "".join(re.findall(r"def (test_\w+)", "".join(texts)))
    every = {f"B{number}" for number in NUMBERS}
    assert {name for name in every if f"_{name.lower()}_" in names} == every
    assert DIFFERENT.keys() <= every
