"""Lines out of chunks."""

from __future__ import annotations

import io
import itertools
import json
import time
import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync._lines import DocumentJoiner, LineSplitter

MIB = 1024 * 1024


def split(chunks: Sequence[bytes], limit: int = MIB) -> tuple[list[bytes], bytes, bool]:
    """All lines, the rest, and whether one was too long."""
    splitter = LineSplitter(limit)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return lines, splitter.rest(), splitter.overflow


def join(lines: Sequence[bytes], limit: int = MIB) -> list[bytes]:
    """All documents, with what waits at the end."""
    joiner = DocumentJoiner(limit)
    documents = [document for line in lines for document in joiner.feed(line)]
    return documents + joiner.rest()


texts = st.lists(st.sampled_from([b"\n", b"\r", b"{", b"}", b" ", b"\xc2\x85", b"\xe2\x80\xa8", b"a", b"bcd", b""]))
borders = st.lists(st.integers(0, 60))


def cut(data: bytes, borders: Sequence[int]) -> list[bytes]:
    """The same bytes, cut at these places; chunks may be empty."""
    places = [0, *sorted(min(border, len(data)) for border in borders), len(data)]
    return [data[begin:end] for begin, end in itertools.pairwise(places)]


@given(texts, borders)
def test_any_chunking(parts: list[bytes], places: list[int]) -> None:
    """However the bytes are cut, the lines are the same: those between newlines, and a rest."""
    data = b"".join(parts)
    lines, rest, overflow = split(cut(data, places))
    assert [*lines, rest] == data.split(b"\n")
    assert not overflow


@given(texts, borders)
def test_any_chunking_of_documents(parts: list[bytes], places: list[int]) -> None:
    """Nor does the cutting change the documents; no byte of a line is lost or moved."""
    data = b"".join(parts) + b"\n"
    documents = join(split(cut(data, places))[0])
    assert documents == join(split([data])[0])
    assert b"\n".join(documents) + b"\n" == data


@given(st.lists(st.integers(0, 12), max_size=10), st.integers(1, 10), borders)
def test_overflow(lengths: list[int], limit: int, places: list[int]) -> None:
    """However the bytes are cut, all lines before the first long one come, and nothing after it."""
    lines = [bytes([65 + index]) * length for index, length in enumerate(lengths)]
    good = next((index for index, line in enumerate(lines) if len(line) > limit), len(lines))
    found, rest, overflow = split(cut(b"\n".join([*lines, b""]), places), limit)
    assert found == lines[:good]
    assert overflow is (good < len(lines))
    assert rest == b""


def test_limit() -> None:
    """A line as long as the limit is good, without counting its newline; one byte more is not."""
    assert split([b"12345\n"], 5) == ([b"12345"], b"", False)
    assert split([b"12345"], 5) == ([], b"12345", False)
    assert split([b"123456"], 5) == ([], b"", True)
    assert split([b"123456\n"], 5) == ([], b"", True)
    assert split([b"123", b"45", b"\n1\n"], 5) == ([b"12345", b"1"], b"", False)


def test_nothing_after_overflow() -> None:
    """After a line that was too long the splitter takes no more."""
    splitter = LineSplitter(3)
    assert splitter.feed(b"a\n12345\nb\n") == [b"a"]
    assert splitter.feed(b"c\n") == []
    assert splitter.overflow


def test_overflow_before_the_end() -> None:
    """A line is too long as soon as it is, not only when it ends: memory is bounded."""
    splitter = LineSplitter(10)
    assert [splitter.feed(b"1234") for _ in range(3)] == [[], [], []]
    assert splitter.overflow


@pytest.mark.parametrize("separator", ["\u0085", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1e", "\r"])
def test_only_newlines(separator: str) -> None:
    """What Unicode and str.splitlines() call a line break stands inside JSON strings and cuts nothing."""
    line = json.dumps(f"a{separator}b", ensure_ascii=False).encode()
    assert split([line + b"\n"])[0] == [line]


def test_characters_across_chunks() -> None:
    """A character of several bytes may come in two chunks."""
    line = "äöü€😀".encode()
    assert split([line[i : i + 1] for i in range(len(line))] + [b"\n"])[0] == [line]


def test_empty_lines() -> None:
    """Empty lines and empty chunks are what they are."""
    assert split([b"", b"\n", b"", b"\n\n", b"a"]) == ([b"", b"", b""], b"a", False)


def test_lines_are_bytes() -> None:
    """A line is plain bytes and independent of what comes later."""
    splitter = LineSplitter(100)
    splitter.feed(b"ab")
    (first,) = splitter.feed(b"c\nde")
    (second,) = splitter.feed(b"f\n")
    assert (first, second) == (b"abc", b"def")
    assert type(first) is bytes


class Counting(io.BytesIO):
    """Counts the bytes that go through the buffer."""

    copied = 0

    def write(self, data: bytes) -> int:  # type: ignore[override]
        Counting.copied += len(data)
        return super().write(data)

    def getvalue(self) -> bytes:
        value = super().getvalue()
        Counting.copied += len(value)
        return value


def test_linear_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte of one line of 50 MiB in chunks of 4 KiB goes into the buffer once and comes out once."""
    monkeypatch.setattr("kwsync._lines.io.BytesIO", Counting)
    monkeypatch.setattr(Counting, "copied", 0)
    splitter = LineSplitter(64 * MIB)
    for _ in range(50 * MIB // 4096):
        assert splitter.feed(b"x" * 4096) == []
    (line,) = splitter.feed(b"\n")
    assert len(line) == 50 * MIB
    assert Counting.copied == 2 * len(line)


def seconds_for(size: int) -> float:
    """The best time of several for one line of this size in chunks of 4 KiB."""
    chunk, count = b"x" * 4096, size // 4096
    times = []
    for _ in range(7):
        splitter = LineSplitter(64 * MIB)
        start = time.perf_counter()
        for _ in range(count):
            splitter.feed(chunk)
        splitter.feed(b"\n")
        times.append(time.perf_counter() - start)
    return min(times)


def test_linear_time() -> None:
    """Ten times the line takes some ten times as long: quadratic would be a hundred.

    The bound is wide because fresh memory costs a page fault, which the short line may be spared; the exact measure is
    that of test_linear_copies.
    """
    ratios = (seconds_for(10 * MIB) / seconds_for(MIB) for _ in range(5))
    assert any(ratio < 40 for ratio in ratios)


@pytest.mark.parametrize("size", [1, 2, 7, 4096])
def test_memory(size: int) -> None:
    """A line in the making takes about its own size, however small the chunks are."""
    splitter, length = LineSplitter(MIB), MIB // 4
    tracemalloc.start()
    try:
        for _ in range(length // size):
            splitter.feed(bytes(bytearray(size)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert splitter.rest() == bytes(length // size * size)
    assert peak < 3 * length


STATUS = {"kind": "Status", "metadata": {}, "causes": [{"a": 1}, []], "message": "a\n}\n{", "empty": {}}


@pytest.mark.parametrize("indent", [1, 2, 4, "\t"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_pretty(indent: int | str, newline: bytes) -> None:
    """An indented object between lines of JSON becomes one document."""
    pretty = json.dumps(STATUS, indent=indent).encode().replace(b"\n", newline)
    line = json.dumps(STATUS).encode()
    documents = join(split([newline.join([line, pretty, line, pretty, b""])])[0])
    assert [json.loads(document) for document in documents] == [STATUS] * 4


@pytest.mark.parametrize("line", [b"", b"{}", b"[", b"]", b"}", b"{ }", b' {"a":1}', b"\xff", b"  ", b"}{", b" {"])
def test_other_lines(line: bytes) -> None:
    """Lines of any other kind pass unchanged, and at once."""
    assert DocumentJoiner(MIB).feed(line) == [line]


def test_opening_that_is_none() -> None:
    """An opening that is followed by a line of JSON comes out alone: the line is not swallowed."""
    joiner = DocumentJoiner(MIB)
    assert joiner.feed(b"{") == []
    assert joiner.feed(b'  "a": 1,') == []
    assert joiner.feed(b'{"type":"ADDED"}') == [b"{", b'  "a": 1,', b'{"type":"ADDED"}']
    assert joiner.rest() == []


def test_opening_twice() -> None:
    """A second opening begins anew."""
    joiner = DocumentJoiner(MIB)
    assert joiner.feed(b"{") == []
    assert joiner.feed(b"{") == [b"{"]
    assert joiner.feed(b"}") == [b"{\n}"]


def test_joiner_limit() -> None:
    """A document beyond the limit comes out line by line, and the joiner works on."""
    joiner = DocumentJoiner(10)
    outcome = [joiner.feed(line) for line in (b"{", b"  123456789", b"  1", b"}")]
    assert outcome == [[], [], [b"{", b"  123456789", b"  1"], [b"}"]]
    assert joiner.feed(b"{") == []
    assert joiner.feed(b"}") == [b"{\n}"]


def test_joiner_rest() -> None:
    """What waits when the stream ends is given out once."""
    joiner = DocumentJoiner(MIB)
    joiner.feed(b"{")
    joiner.feed(b"  1")
    assert joiner.rest() == [b"{", b"  1"]
    assert joiner.rest() == []


@given(texts, st.integers(1, 20))
def test_joiner_loses_nothing(parts: list[bytes], limit: int) -> None:
    """Whatever comes, with whatever limit, the documents are the lines, in order."""
    lines = b"".join(parts).split(b"\n")
    assert b"\n".join(join(lines, limit)).split(b"\n") == lines
