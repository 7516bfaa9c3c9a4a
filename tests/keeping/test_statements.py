"""Each statement B054 to B106 of the conformance list has a test of its name, or a line here that says why not."""

from __future__ import annotations

import re
from pathlib import Path

FIRST, LAST = 54, 106

WITHOUT = {
    "B062": "no batches of writes: nobody but the reading thread writes, and a full state is one step (B059)",
    "B064": "no keys by index: by_index gives objects, in no order, and each object has its key",
    "B070": "no store whose entries expire: a cache that equals the server has no age",
    "B071": "no mutation cache: Store.wait_until waits until one's own write is there, which is never older",
    "B081": "no batches: a handler is called for one object at a time, and what waits is merged (B072)",
    "B082": "no backpressure: what waits is bounded by the number of objects, so the reading thread never waits (B103)",
    "B086": "no trace of slow handlers: HandlerRegistration.pending tells at any time (B104)",
    "B100": "no filtering handler: a selection by labels is the server's, and has an informer of its own",
    "B106": "no trace of slow handlers: HandlerRegistration.pending tells at any time (B104)",
}

DIFFERENT = {
    "B055": "an object without a name is told as an error, and the rest of the list is kept",
    "B057": "what is read is the reader's own, so the cache cannot be changed",
    "B060": "and an old state of what cannot be transformed does not stay",
    "B067": "indexers can be added before the first start",
    "B068": "what an index function raises is told, and changes nothing else",
    "B072": "one thing of each object waits, not a list of all; so do B073, B074, B076, B103 and B104 mean it",
    "B089": "another object under the same name is DELETED, then ADDED",
    "B091": "an unchanged list is told to nobody",
    "B092": "one period for an informer, of any length; there is no lower bound",
    "B096": "to wait in a callback for its own end is a RuntimeError",
    "B097": "an informer can be started again, and handlers can be added at any time",
    "B099": "what was not told at a stop is told after the next start",
    "B101": "one for each selection, which can be stopped alone and started again",
    "B105": "whatever a callback raises is told to on_error, and the next event comes at once",
}
"""Where kwsync does something else than client-go, on purpose; the tests are about that."""


def test_every_statement() -> None:
    """No statement is forgotten, and none is excused that has a test."""
    text = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    names = "".join(re.findall(r"def (test_\w+)", text))
    tested = {f"B{number:03}" for number in range(FIRST, LAST + 1) if f"_b{number:03}" in names}
    every = {f"B{number:03}" for number in range(FIRST, LAST + 1)}
    assert every - tested == WITHOUT.keys()
    assert DIFFERENT.keys() <= tested
