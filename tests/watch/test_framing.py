"""From bytes to lines: however an answer is framed, cut or compressed, the same events come out at once."""

from __future__ import annotations

import gzip
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kwsync import EndReason, ErrorOrigin, ErrorType, WatchEnd, watch_resource
from kwsync.testing import (
    Call,
    End,
    Event,
    Exchange,
    Fin,
    Gzip,
    Head,
    Head1,
    NoHead,
    Raw,
    RawBytes,
    Repeat,
    Split,
    Stall,
    StallUntil,
    Step,
    pod,
    status,
)
from tests.watch.support import SOON, assert_clean, line, outcome_of, served, watched, whole

MIB = 1024 * 1024
WIDE = [pod(name, str(n), spec={"text": "ä€😀" * 3}) for n, name in enumerate(["ä", "€-b", "😀", "d"])]
"""Characters of two, three and four bytes, in names and texts."""
BODY = b"".join(line("ADDED", found) for found in WIDE)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
GZIP = {"Content-Encoding": "gzip"}

framings = pytest.mark.parametrize("framing", [(Head(), End()), (Head1(), Fin())], ids=["chunked", "close"])
packed_framings = pytest.mark.parametrize(
    "framing", [(Head(headers=GZIP), End()), (Head1(headers=GZIP), Fin())], ids=["chunked", "close"]
)


def split(data: bytes, size: int) -> list[bytes]:
    """Pieces of *size* bytes, the last one maybe shorter."""
    return [data[start : start + size] for start in range(0, len(data), size)]


def chunked(data: bytes, size: int) -> bytes:
    """A whole chunked body."""
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in split(data, size)) + b"0\r\n\r\n"


def big(size: int, name: str = "big") -> bytes:
    """An event line of exactly *size* bytes, its end counted."""
    empty = line("ADDED", pod(name, data=""))
    return line("ADDED", pod(name, data="x" * (size - len(empty))))


class TestChunked:
    @pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 64, 100_000])
    def test_any_cut(self, size: int) -> None:
        """Where chunks are cut means nothing, also not in the middle of a character (A1)."""
        outcome = watched(Head(), Split(BODY, size), End())
        assert [event.object for event in outcome.events] == WIDE
        assert outcome.end == WatchEnd(EndReason.SERVER_CLOSED)

    @pytest.mark.parametrize("size", [1, 2, 3, 5, 17])
    def test_any_packet(self, size: int) -> None:
        """Where packets are cut means nothing, also not inside the head, a chunk's header or its end."""
        outcome = watched(*(RawBytes(piece) for piece in split(HEAD + chunked(BODY, 50), size)))
        assert [event.object for event in outcome.events] == WIDE
        assert outcome.end == WatchEnd(EndReason.SERVER_CLOSED)

    def test_initial_events(self) -> None:
        """Initial events come in chunks of 2,048 bytes that cut events in the middle (D17)."""
        pods = [pod(f"pod-{n}", str(n), spec={"x": "y" * (n * 13 % 900)}) for n in range(60)]
        outcome = watched(Head(), Split(b"".join(line("ADDED", found) for found in pods), 2048), End())
        assert [event.object for event in outcome.events] == pods

    def test_several_events_in_a_chunk(self) -> None:
        """All events of one chunk come, one after another."""
        assert_clean(watched(Head(), Raw(BODY), End()), *(found["metadata"]["name"] for found in WIDE))

    @pytest.mark.parametrize(
        "body",
        [
            b"%X;name=value;other\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY),
            b"000%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY),
            b"%x\r\n%b\r\n0\r\nX-Trailer: 1\r\nX-Other: 2\r\n\r\n" % (len(BODY), BODY),
            b"%x \r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY),
        ],
    )
    def test_dialects(self, body: bytes) -> None:
        """Extensions, upper case, leading zeros and trailers are HTTP too (RFC 9112, 7.1)."""
        outcome = watched(RawBytes(HEAD.replace(b"chunked", b"Chunked") + body))
        assert [event.object for event in outcome.events] == WIDE
        assert outcome.end == WatchEnd(EndReason.SERVER_CLOSED)

    def test_delivered_when_its_chunk_is_complete(self) -> None:
        """An event is delivered before anything more comes, not when some buffer is full."""
        assert_delivered_at_once(Head(), Raw, End())


class TestOtherFramings:
    def test_close_delimited(self) -> None:
        """Without chunks and length the body ends with the connection; events come as bytes arrive (A7, Z11)."""
        assert_delivered_at_once(Head1(), Raw, Fin())

    def test_content_length(self) -> None:
        """With a length it ends there; events come as bytes arrive all the same."""
        total = len(line("ADDED", pod("a"))) * 2
        head = Head1(headers={"Content-Length": str(total), "Connection": None})
        assert_delivered_at_once(head, Raw, Call(lambda _: None))

    def test_http_1_0(self) -> None:
        """A proxy may speak HTTP/1.0, whose body ends with the connection."""
        assert_delivered_at_once(RawBytes(b"HTTP/1.0 200 OK\r\n\r\n"), RawBytes, Fin())

    @pytest.mark.parametrize("size", [1, 3, 1000])
    def test_any_packet(self, size: int) -> None:
        """Where packets are cut means nothing."""
        outcome = watched(Head1(), Split(BODY, size), Fin())
        assert [event.object for event in outcome.events] == WIDE
        assert outcome.end == WatchEnd(EndReason.SERVER_CLOSED)

    @pytest.mark.parametrize("body", [b"", b"\n", b"\r\n\r\n"])
    @pytest.mark.parametrize("steps", [(Head(), End()), (Head1(), Fin())])
    def test_empty_body(self, steps: tuple[Step, Step], body: bytes) -> None:
        """A body without lines is a stream without events and with a clean end (Z16)."""
        outcome = watched(steps[0], Raw(body), steps[1])
        assert (outcome.events, outcome.end, outcome.skipped_lines) == ([], WatchEnd(EndReason.SERVER_CLOSED), 0)

    def test_no_content(self) -> None:
        """204 is a success with nothing in it (Backstage, section 4)."""
        outcome = watched(RawBytes(b"HTTP/1.1 204 No Content\r\n\r\n", keep_alive=True))
        assert (outcome.events, outcome.end) == ([], WatchEnd(EndReason.SERVER_CLOSED))

    def test_continue(self) -> None:
        """100 Continue is no answer yet."""
        assert_clean(watched(RawBytes(b"HTTP/1.1 100 Continue\r\n\r\n"), whole(line("ADDED", pod("a")))), "a")


class TestLate:
    def test_late_head(self) -> None:
        """Headers may come as late as the first event: no connect timeout counts for them (A26)."""
        with served([NoHead(0.7), Head(), Event("ADDED", pod("a")), End()], connect_timeout=0.6) as (server, client):
            assert_clean(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON), server), "a")

    def test_late_event(self) -> None:
        """Nor for the first event: an idle stream is normal (B10)."""
        with served([Head(), NoHead(0.7), Event("ADDED", pod("a")), End()], connect_timeout=0.6) as (server, client):
            assert_clean(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON), server), "a")

    def test_head_and_event_in_one_packet(self) -> None:
        """A proxy that holds the head back sends it with the first event, which is then delivered at once (A26)."""
        going = threading.Event()
        first, second = line("ADDED", pod("a")), line("ADDED", pod("b"))
        together = RawBytes(HEAD + chunked(first, len(first))[:-5])
        with served([together, StallUntil(going), RawBytes(chunked(second, 20))]) as (_, client):
            stream = watch_resource("pods", client=client, timeout_seconds=SOON)
            assert next(stream).key.name == "a"
            going.set()
            assert_clean(outcome_of(stream), "b")


class TestLines:
    @framings
    def test_crlf(self, framing: tuple[Step, Step]) -> None:
        """A line may end in CRLF, also when a packet is cut between the two."""
        body = BODY.replace(b"\n", b"\r\n\r\n \t\r\n\n")
        outcome = watched(framing[0], Split(body, 1), framing[1])
        assert [event.object for event in outcome.events] == WIDE
        assert outcome.skipped_lines == 0

    @pytest.mark.parametrize("character", "\u0085\u2028\u2029\v\f\x1c\x1d\x1e\x00\u0001\u200b\ufeff", ids=ascii)
    def test_only_newline_splits(self, character: str) -> None:
        r"""Only 0x0A ends a line: U+0085, U+2028, U+2029, VT, FF, FS..RS inside a string do not (A21, Z1).

        Those that JSON forbids raw make the line malformed, one line and no more.
        """
        found = pod("a", metadata={"annotations": {"text": f"x{character}y\r"}})
        raw = b'{"type":"ADDED","object":{"metadata":{"name":"a"},"text":"x%by"}}\n' % character.encode()
        outcome = watched(Head(), Event("ADDED", found), Raw(raw), Event("ADDED", pod("b")), End())
        forbidden = character < " "
        assert outcome.names == (["a", "b"] if forbidden else ["a", "a", "b"])
        assert outcome.events[0].object == found
        assert outcome.skipped_lines == (1 if forbidden else 0)

    @pytest.mark.parametrize("cut", [(Head(), End()), (Head1(), Fin()), (Head(headers={"Connection": "close"}), End())])
    @pytest.mark.parametrize("rest", [line("ADDED", pod("b", "9"))[:-1], line("ADDED", pod("b", "9"))[:-9], b'{"'])
    def test_rest_of_a_line(self, cut: tuple[Step, Step], rest: bytes) -> None:
        """What is left of a line when the body ends is never an event, and moves no version (C2, contract 3.3)."""
        outcome = watched(cut[0], Event("ADDED", pod("a", "8")), Raw(rest), cut[1], resource_version="1")
        assert_clean(outcome, "a")
        assert outcome.resource_version == "8"

    def test_error_without_newline(self) -> None:
        """An ERROR is told also when its line has no end: it says why the stream ended."""
        outcome = watched(Head(), Raw(line("ERROR", status(410, "Expired"))[:-1]), End())
        assert (outcome.error.origin, outcome.error.is_expired) == (ErrorOrigin.STREAM, True)
        assert outcome.end.reason is EndReason.SERVER_CLOSED


class TestLongLines:
    @pytest.mark.parametrize("mib", [1, 10, 50])
    def test_long_line(self, mib: int) -> None:
        """An event of any size below the limit comes whole (A23, Z18: others stop at 128 KiB or 4 MiB)."""
        outcome = watched(Head(), Split(big(mib * MIB), 65_536), Event("ADDED", pod("b")), End())
        assert_clean(outcome, "big", "b")
        assert len((outcome.events[0].object or {})["data"]) > mib * MIB - 300

    def test_linear(self) -> None:
        """In chunks of 4 KiB ten times the length costs ten times the work, not a hundred times (A23)."""
        seconds = {mib: min(self.seconds_for(mib) for _ in range(3)) for mib in (1, 10)}
        assert seconds[10] < 12 * seconds[1] + 0.02, seconds

    def seconds_for(self, mib: int) -> float:
        """Processor time of this thread for one long line."""
        with served([Head(), Split(big(mib * MIB), 4096), End()]) as (_, client):
            begin = time.thread_time()
            assert len(list(watch_resource("pods", client=client, timeout_seconds=SOON))) == 1
            return time.thread_time() - begin

    @pytest.mark.parametrize("size", [1, 7, 4096, MIB])
    @framings
    def test_limit(self, framing: tuple[Step, Step], size: int) -> None:
        """A line of exactly max_line_bytes comes; one byte more is an ERROR DECODE that ends the stream (3.3)."""
        fits, too_long = big(1001, "fits"), big(1002, "long")
        body = Split(line("ADDED", pod("a")) + fits + too_long + line("ADDED", pod("b")), size)
        outcome = watched(framing[0], body, framing[1], max_line_bytes=1000)
        assert outcome.names == ["a", "fits", ""]
        error = outcome.error
        assert (error.origin, error.error_type, error.status_code) == (ErrorOrigin.DECODE, ErrorType.SYSTEM_ERROR, 0)
        assert "1000 bytes" in error.message
        assert outcome.end == WatchEnd(EndReason.ERROR, error)

    def test_limit_before_the_line_ends(self) -> None:
        """It is seen with the first byte too many, not when the line ends."""
        assert watched(Head(), Raw(b"x" * 1000), End(), max_line_bytes=1000).types == []
        outcome = watched(Head(), Raw(b"x" * 1001), Stall(), max_line_bytes=1000)
        assert (outcome.error.origin, outcome.end.reason) == (ErrorOrigin.DECODE, EndReason.ERROR)

    def test_limit_while_the_line_goes_on(self) -> None:
        """The limit is seen when it is passed: the line need not end, and is not kept."""
        endless = Repeat(Raw(b"x" * 65_536), 1_000_000)
        with peak_below(8 * MIB):
            outcome = watched(Head(), endless, max_line_bytes=2 * MIB)
        assert (outcome.error.origin, outcome.end.reason) == (ErrorOrigin.DECODE, EndReason.ERROR)

    def test_huge_chunk(self) -> None:
        """A chunk that announces gigabytes is read in pieces, so the limit holds inside of it."""
        with peak_below(8 * MIB):
            outcome = watched(
                Head(), RawBytes(b"ffffffff\r\n"), Repeat(RawBytes(b"x" * 65_536), 1_000_000), max_line_bytes=2 * MIB
            )
        assert outcome.error.origin is ErrorOrigin.DECODE

    def test_many_lines_in_a_huge_chunk(self) -> None:
        """Events inside a huge chunk come before it is complete, so no memory is needed for all of them."""
        event = big(4096)
        body = Repeat(RawBytes(event * 16), 300)
        with peak_below(8 * MIB), served([Head(), RawBytes(b"ffffffff\r\n"), body, Fin()]) as (_, client):
            count = sum(1 for event in watch_resource("pods", client=client, timeout_seconds=SOON) if event.object)
        assert 4800 - 256 <= count <= 4800  # what has come of the last piece of 1 MiB is lost with it


class TestCompressed:
    """Identity is asked for; some servers and proxies compress all the same (A22, Z2)."""

    def test_member_for_each_chunk(self) -> None:
        """Kubernetes 1.37 closes a gzip member at each flush: all members count, not the first alone (A22, Z2)."""
        outcome = watched(Head(headers=GZIP), *(Gzip(line("ADDED", pod(f"p{n}"))) for n in range(5)), End())
        assert_clean(outcome, "p0", "p1", "p2", "p3", "p4")
        assert outcome.requests[0].headers["Accept-Encoding"] == "identity"

    @pytest.mark.parametrize("size", [1, 2, 7, 19, 100, 100_000])
    @packed_framings
    def test_members_cut_anywhere(self, framing: tuple[Step, Step], size: int) -> None:
        """Members may be cut anywhere, also inside their heads, and lie together in one chunk."""
        members = b"".join(gzip.compress(line("ADDED", found), mtime=0) for found in WIDE)
        outcome = watched(framing[0], Split(members, size), framing[1])
        assert [event.object for event in outcome.events] == WIDE
        assert outcome.end == WatchEnd(EndReason.SERVER_CLOSED)

    @pytest.mark.parametrize("size", [1, 7, 100_000])
    def test_lines_over_members(self, size: int) -> None:
        """A line may go over several members."""
        members = b"".join(gzip.compress(piece, mtime=0) for piece in split(BODY, 50))
        outcome = watched(Head(headers=GZIP), Split(members, size), End())
        assert [event.object for event in outcome.events] == WIDE

    @pytest.mark.parametrize("coding", ["gzip", "x-gzip", "GZIP", "deflate"])
    def test_one_member_that_is_flushed(self, coding: str) -> None:
        """Compressed as one member with a flush behind each event, an event is delivered at its flush."""
        packer = zlib.compressobj(wbits=15 if coding == "deflate" else 31)

        def packed(data: bytes) -> Step:
            return Raw(packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH))

        class Finish(Step):
            def run(self, exchange: Exchange) -> None:
                exchange.body(packer.flush())
                exchange.end()

        assert_delivered_at_once(Head(headers={"Content-Encoding": coding}), packed, Finish())

    def test_member_without_its_end(self) -> None:
        """A clean end in the middle of a member is an ERROR DECODE: what was packed last may be missing."""
        packer = zlib.compressobj(wbits=31)
        data = packer.compress(line("ADDED", pod("a"))) + packer.flush(zlib.Z_SYNC_FLUSH)
        outcome = watched(Head(headers=GZIP), Raw(data), End())
        assert (outcome.types, outcome.error.origin) == (["ADDED", "ERROR"], ErrorOrigin.DECODE)

    @packed_framings
    def test_member_is_delivered_at_once(self, framing: tuple[Step, Step]) -> None:
        """An event is delivered when its member is there, not when the next one comes."""
        assert_delivered_at_once(framing[0], Gzip, framing[1])

    @packed_framings
    @pytest.mark.parametrize("rubbish", [b"no gzip at all\n", b"\x1f\x8b\x08" + b"\xff" * 50], ids=["text", "head"])
    def test_broken(self, framing: tuple[Step, Step], rubbish: bytes) -> None:
        """What cannot be unpacked is an ERROR DECODE and the end."""
        outcome = watched(framing[0], Raw(rubbish), framing[1])
        assert (outcome.types, outcome.error.origin) == (["ERROR"], ErrorOrigin.DECODE)
        assert outcome.end.reason is EndReason.ERROR

    @packed_framings
    def test_later_member_broken(self, framing: tuple[Step, Step]) -> None:
        """The same after events that could be unpacked: else whatever comes behind it would be lost in silence (Z2)."""
        good, more = line("ADDED", pod("a")), line("ADDED", pod("b"))
        outcome = watched(framing[0], Gzip(good), Raw(b"no gzip at all\n"), Gzip(more), framing[1])
        assert (outcome.types, outcome.error.origin) == (["ADDED", "ERROR"], ErrorOrigin.DECODE)

    @pytest.mark.parametrize("coding", ["snappy", "gzip, snappy", "aws-chunked"])
    def test_unknown_coding(self, coding: str) -> None:
        """A coding that is not known is an ERROR DECODE, and its bytes are not taken for lines."""
        outcome = watched(Head(headers={"Content-Encoding": coding}), Raw(b"\xff\x06\n"), End())
        assert (outcome.types, outcome.error.origin) == (["ERROR"], ErrorOrigin.DECODE)
        assert outcome.skipped_lines == 0

    @pytest.mark.parametrize("coding", ["identity", "", "Identity", " , "])
    def test_no_coding(self, coding: str) -> None:
        """Identity may be said, or nothing."""
        assert_clean(watched(Head(headers={"Content-Encoding": coding}), Event("ADDED", pod("a")), End()), "a")

    def test_two_codings(self) -> None:
        """Two, one over the other, are unpacked in their order."""
        data = zlib.compress(gzip.compress(line("ADDED", pod("a"))))
        assert_clean(watched(whole(data, **{"Content-Encoding": "gzip, deflate"})), "a")

    @packed_framings
    @pytest.mark.parametrize("ends", [b"", b"\n"], ids=["one-line", "lines"])
    def test_bomb(self, framing: tuple[Step, Step], ends: bytes) -> None:
        """A small answer that unpacks to much is unpacked in pieces: the limit of a line holds, memory is bounded."""
        bomb = gzip.compress((b" " * (MIB - 1) + (ends or b" ")) * 64)
        with peak_below(24 * MIB):
            outcome = watched(framing[0], Raw(bomb), framing[1], max_line_bytes=2 * MIB)
        if ends:
            assert_clean(outcome)
        else:
            assert outcome.error.origin is ErrorOrigin.DECODE


def assert_delivered_at_once(head: Step, framed: Callable[[bytes], Step], end: Step) -> None:
    """The first event comes while the server waits with everything behind it; then the stream ends cleanly."""
    going = threading.Event()
    first, second = framed(line("ADDED", pod("a"))), framed(line("ADDED", pod("b")))
    with served([head, first, StallUntil(going), second, end]) as (_, client):
        stream = watch_resource("pods", client=client, timeout_seconds=SOON)
        event = next(stream)
        assert event.key.name == "a", event
        going.set()
        assert_clean(outcome_of(stream), "b")


@contextmanager
def peak_below(limit: int) -> Iterator[None]:
    """Fail when the block needs more memory at one time than *limit* bytes."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < limit, f"{peak / MIB:.1f} MiB at the peak"
