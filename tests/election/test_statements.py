"""Each statement B149 to B166 of the conformance list has a test of its name, or a line here that says why not."""

from __future__ import annotations

import re
from pathlib import Path

FIRST, LAST = 149, 166

WITHOUT = {
    "B165": "there is no type of lock to choose: Lease is all there is, so there is nothing to refuse",
    "B166": "no coordinated mode: it is a beta API that is off by default; its fields in a Lease are kept as they are",
}

DIFFERENT = {
    "B150": "callbacks are not needed; a Lease has whole seconds",
    "B151": "and a candidate is there at the moment at which the Lease of another is over",
    "B152": "a Lease that was seen and is deleted is created a lease later; its leader creates it anew, as it was",
    "B154": "each term counts as a transition, so that its token is its own",
    "B156": "a failure that does not say that the Lease is another, or gone, is looked after in the last round only",
    "B157": "the belief to lead ends the deadline after the last good request was sent, and run() campaigns again",
    "B159": "on_stopped says whether it had led, and comes when the work has ended, or does not end in time",
    "B160": "not between a loss and the next campaign of the same run",
    "B161": "the Lease is renewed until the work has ended, then given back",
    "B163": "is_leader() goes by the clock; work that has not ended counts as leading",
    "B164": "the user agent is that of all requests of kwsync",
}
"""Where kwsync does something else than client-go, on purpose; the tests are about that."""


def test_every_statement() -> None:
    """No statement is forgotten, and none is excused that has a test."""
    text = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    names = "".join(re.findall(r"def (test_\w+)", text))
    every = {f"B{number}" for number in range(FIRST, LAST + 1)}
    tested = {statement for statement in every if statement.lower() in names}
    assert every - tested == WITHOUT.keys()
    assert DIFFERENT.keys() <= tested
