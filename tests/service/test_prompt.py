"""What is answered without waiting: the server's health, and refusals where many wait already."""

from __future__ import annotations

import asyncio
import gc
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import httptools
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.service.conftest import Client, Running, until

from gradwire_service.host.limits import Limits
from gradwire_service.http.call import Call
from gradwire_service.http.connection import ONE_REQUEST

HEALTH = b"GET /health/ready HTTP/1.1\r\nHost: here\r\n\r\n"
PROGRAM = {"inputs": ["x"], "source": "y = x * 2", "outputs": ["y"]}
BODY = orjson.dumps({"program": PROGRAM, "inputs": {"x": [1.0, 2.0]}})
ASKED = (
    b"POST /v1/evaluate HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n" % len(BODY)
) + BODY


class Raw:
    """A socket, and the replies that come over it."""

    def __init__(self, server: Running) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""

    def send(self, *pieces: bytes) -> None:
        """Each in a segment of its own, if the system can."""
        for piece in pieces:
            self.socket.sendall(piece)

    def reply(self) -> tuple[int, bytes, bytes]:
        """Status, head and body of the next one."""
        head = self._until(lambda found: found.find(b"\r\n\r\n") + 4 or None)
        found = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        body = self._until(lambda _: int(found))
        return int(head[9:12]), head, body

    def _until(self, wanted: Callable[[bytes], int | None]) -> bytes:
        while True:
            size = wanted(self._received)
            if size is not None and size != 3 and len(self._received) >= size:
                taken, self._received = self._received[:size], self._received[size:]
                return taken
            piece = self.socket.recv(65536)
            assert piece, "it hung up"
            self._received += piece


@pytest.fixture
def raw(server: Running) -> Iterator[Raw]:
    found = Raw(server)
    with found.socket:
        yield found


def test_health_and_work_in_one_segment_are_answered_in_their_order(raw: Raw) -> None:
    raw.send(HEALTH + ASKED + HEALTH + HEALTH + ASKED)
    bodies = [raw.reply() for _ in range(5)]
    assert [status for status, *_ in bodies] == [200] * 5
    assert [b"ready" in body for *_, body in bodies] == [True, False, True, True, False]


def test_health_byte_by_byte_and_with_a_body(raw: Raw) -> None:
    raw.send(*[HEALTH[i : i + 1] for i in range(len(HEALTH))])
    assert raw.reply()[0] == 200
    raw.send(HEALTH.replace(b"here\r\n", b"here\r\nContent-Length: 4\r\n"), b"ab", b"cd", HEALTH)
    assert [raw.reply()[0] for _ in range(2)] == [200, 200]


def test_health_has_its_headers_and_is_counted(server: Running, raw: Raw) -> None:
    raw.send(HEALTH.replace(b"here\r\n", b"here\r\nX-Request-Id: mine\r\n"))
    assert b"x-request-id: mine" in raw.reply()[1]
    raw.send(HEALTH.replace(b"ready", b"nowhere"))
    assert raw.reply()[0] == 404
    raw.send(HEALTH.replace(b"GET", b"POST"))
    assert raw.reply()[0] == 405
    text = server.client.get("/metrics").text
    assert 'route="/health/ready",status="200"' in text


@contextmanager
def full(server: Running) -> Iterator[None]:
    """Its one place to wait is taken."""
    loop = asyncio.new_event_loop()
    queue = server.service.everybody.queue
    queue.append(loop.create_future())
    yield
    queue.clear()
    loop.close()


@pytest.fixture
def crowded(serve: Callable[..., Running]) -> Iterator[Running]:
    """A server where as many wait for their turn as may."""
    server = serve(limits=Limits(requests=1))
    with full(server):
        yield server


def test_who_finds_no_place_to_wait_is_told_so(crowded: Running) -> None:
    raw = Raw(crowded)
    with raw.socket:
        raw.send(ASKED)
        status, head, body = raw.reply()
        assert (status, orjson.loads(body)["code"]) == (503, "overloaded")
        assert b"retry-after:" in head
        raw.send(ASKED[:-10], ASKED[-10:])
        assert raw.reply()[0] == 503
        raw.send(HEALTH)
        assert raw.reply()[0] == 200
        crowded.service.everybody.queue.clear()
        raw.send(ASKED)
        status, _, body = raw.reply()
        assert (status, orjson.loads(body)["outputs"]["y"]["data"]) == (200, [2.0, 4.0])


def with_body(size: int) -> bytes:
    """A head that announces so many bytes."""
    head = ASKED.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    return head.replace(b"Content-Length: %d" % len(BODY), b"Content-Length: %d" % size)


def test_a_large_body_that_is_refused_is_not_kept(crowded: Running) -> None:
    """It is refused at its head, also if there is a place by then, and the connection goes on."""
    raw = Raw(crowded)
    with raw.socket:
        raw.send(with_body(300_000), b"x" * 200_000)
        raw.send(b"x" * 99_999)
        errors = crowded.service.everybody.metrics.errors
        end = time.monotonic() + 10
        while "overloaded" not in errors and time.monotonic() < end:
            time.sleep(0.01)
        crowded.service.everybody.queue.clear()
        raw.send(b"x" + ASKED)
        status, head, body = raw.reply()
        assert (status, orjson.loads(body)["code"]) == (503, "overloaded")
        assert b"connection: close" not in head
        assert raw.reply()[0] == 200
    assert crowded.service.underway == 0


def test_who_sends_far_too_much_or_too_slowly_is_hung_up_on(
    serve: Callable[..., Running],
) -> None:
    server = serve(limits=Limits(requests=1, header_seconds=0.3))
    with full(server):
        for sent in (with_body(2**30) + b"x" * (2**21 + 1), with_body(100) + b"x"):
            raw = Raw(server)
            with raw.socket:
                raw.send(sent)
                status, head, body = raw.reply()
                assert (status, orjson.loads(body)["code"]) == (503, "overloaded")
                assert b"connection: close" in head
                assert b"retry-after:" in head


def test_refusals_are_counted_and_have_their_callers_id(crowded: Running) -> None:
    raw = Raw(crowded)
    mine = ASKED.replace(b"here\r\n", b"here\r\nX-Request-Id: a-name-of-my-own\r\n")
    with raw.socket:
        raw.send(ASKED + mine + HEALTH + ASKED)
        replies = [raw.reply() for _ in range(4)]
    assert [status for status, *_ in replies] == [503, 503, 200, 503]
    assert b"x-request-id: a-name-of-my-own\r\n" in replies[1][1]
    documents = [orjson.loads(body) for _, _, body in replies]
    assert documents[1].pop("request_id") == "a-name-of-my-own"
    assert documents[0].pop("request_id") != documents[3].pop("request_id")
    assert documents[0] == documents[1] == documents[3]
    assert documents[0]["detail"] == "1 requests wait for their turn, and the limit is 1"
    text = crowded.client.get("/metrics").text
    assert 'code="overloaded"} 3' in text
    assert 'method="POST",route="(none)",status="503"} 3' in text


@pytest.mark.parametrize("count", [10, 5000])
def test_what_is_refused_is_freed_without_the_collector(
    young: None, server: Running, count: int
) -> None:
    """On the event loop and in a thread: no error leads to itself by way of its frames."""
    session = server.session()
    body = {"steps": [{"tensor": "unheard", "value": 1}] * count + [{"free": ["nothing"]}]}
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        assert session.post("/steps", body).status_code in (404, 413)
        gc.collect(0)
        codes = [found.f_code for found in gc.garbage if isinstance(found, FrameType)]
        assert not [code for code in codes if "gradwire_" in code.co_filename]  # not others' here
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def test_posts_in_one_segment_are_answered_in_their_order(raw: Raw) -> None:
    """Far more than begin where they are read; small ones, and ones that a thread works on."""
    large = orjson.dumps({"program": PROGRAM, "inputs": {"x": [0.5] * 20_000}})
    heavy = ASKED.replace(b"%d" % len(BODY), b"%d" % len(large)).replace(BODY, large)
    raw.send((ASKED * 30 + heavy + HEALTH) * 3)
    for _ in range(3):
        found = [raw.reply() for _ in range(32)]
        assert [status for status, *_ in found] == [200] * 32
        assert [len(body) for *_, body in found[:30]] == [len(found[0][2])] * 30
        assert len(found[30][2]) > 60_000
        assert b"ready" in found[31][2]


def test_an_answer_is_one_write(raw: Raw) -> None:
    """Head and body come in one piece: the client is woken once."""
    for asked, status in ((ASKED, 200), (ASKED.replace(b"evaluate", b"evaluat"), 404)):
        raw.send(asked)
        found = raw.socket.recv(65536)
        head, _, body = found.partition(b"\r\n\r\n")
        assert int(head[9:12]) == status
        assert b"content-length: %d" % len(body) in head.lower().split(b"\r\n")


def test_who_speaks_http_1_0_is_hung_up_on(raw: Raw) -> None:
    raw.send(ASKED.replace(b"HTTP/1.1", b"HTTP/1.0"))
    status, head, _ = raw.reply()
    assert status == 200
    assert head.lower().count(b"connection: close") == 1
    assert raw.socket.recv(1) == b""


def test_heads_alone_are_answered_with_heads_alone(raw: Raw) -> None:
    raw.send(HEALTH.replace(b"GET", b"HEAD") + HEALTH)
    found = b""
    while not found.endswith(b"}"):
        found += raw.socket.recv(65536)
    assert found.count(b"HTTP/1.1 200") == 2
    assert found.count(b"ready") == 1


def test_who_hangs_up_leaves_nothing_behind(young: None, server: Running, session: Client) -> None:
    """The request had begun where it was read, and waited as a task, which was cancelled.

    What is in memory is looked at when the server has nothing to do: a tuple that is being made
    can't be finished once somebody else has hold of it, and whoever makes it would fail.
    """
    slow = [{"op": "rand", "args": [[1_000_000]], "out": "r"}] * 2000
    body = orjson.dumps({"steps": slow})
    path = f"{session.path}/steps"
    raw = Raw(server)
    with raw.socket:
        raw.send(f"POST {path} HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        until(lambda: server.service.underway)
    until(lambda: not server.service.underway and not server.service.executor.waiting)
    until(lambda: not calls_to(path))


def calls_to(path: str) -> list[Call]:
    """The requests for this path that are in memory."""
    return [o for o in gc.get_objects(0) if type(o) is Call and o.scope["path"] == path]


def test_who_is_refused_again_and_again_is_not_hung_up_on_before_the_connection_lies_idle(
    crowded: Running,
) -> None:
    """The keep-alive time, of which uvicorn has 5 seconds, counts from the last refusal."""
    raw = Raw(crowded)
    with raw.socket:
        for _ in range(3):
            raw.send(ASKED)
            assert raw.reply()[0] == 503
            time.sleep(1.8)
        raw.send(ASKED)
        assert raw.reply()[0] == 503
        began = time.monotonic()
        assert raw.socket.recv(1) == b"", "it hangs up on who asks no more"
        assert 4 < time.monotonic() - began < 8


AS_A_BODY = b"POST /v1/y HTTP/1.1\r\ncontent-length: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ASKED + with_body(len(AS_A_BODY)), AS_A_BODY),
        (ASKED + b"POST /v1/x HTTP/1.1\r\nX: ", ASKED),
    ],
    ids=["a body that looks like a request", "a head that goes on like a request"],
)
def test_what_looks_like_a_request_within_one_is_a_part_of_it(
    crowded: Running, first: bytes, second: bytes
) -> None:
    """Each of them is refused once, and what comes behind them is understood."""
    raw = Raw(crowded)
    with raw.socket:
        raw.send(first)
        assert raw.reply()[0] == 503
        raw.send(second)
        assert raw.reply()[0] == 503
        raw.send(HEALTH)
        assert raw.reply()[0] == 200


def test_a_refusal_waits_for_the_replies_before_it(serve: Callable[..., Running]) -> None:
    server = serve(limits=Limits(requests=1))
    source = "y = (linspace(0, 1, 5000000) * x[0]).sum()"
    body = orjson.dumps({"program": PROGRAM | {"source": source}, "inputs": {"x": [1.0]}})
    slow = with_body(len(body)) + body
    raw = Raw(server)
    with raw.socket:
        raw.send(ASKED + slow)
        assert raw.reply()[0] == 200
        until(lambda: server.service.executor.waiting)
        with full(server):
            raw.send(ASKED)
            status, _, reply = raw.reply()
            assert (status, orjson.loads(reply)["outputs"]["y"]["data"]) == (200, 2_500_000.0)
            assert raw.reply()[0] == 503


def test_many_fields_before_one_that_does_not_fit_take_no_time(crowded: Running) -> None:
    raw = Raw(crowded)
    fields = b"a: b\r\n" * 400
    with raw.socket:
        raw.send(ASKED)
        assert raw.reply()[0] == 503
        raw.send(ASKED.replace(b"Host: here\r\n", b"Host: here\r\n" + fields + b"x_y: 1\r\n"))
        assert raw.reply()[0] == 503


class Seen:
    """What httptools makes of some bytes: messages that ended, and how many bytes were bodies."""

    def __init__(self, data: bytes) -> None:
        self.messages, self.body = 0, 0
        self.parser = httptools.HttpRequestParser(self)
        self.parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self.body += len(body)

    def on_message_complete(self) -> None:
        self.messages += 1
        self.method, self.goes_on = self.parser.get_method(), self.parser.should_keep_alive()


PLAIN_NAMES = [b"Host", b"Accept", b"User-Agent", b"x-other"]
ODD_NAMES = [
    b"content-length", b"Content-Length", b"Connection", b"Proxy-Connection", b"Expect",
    b"Transfer-Encoding", b"Upgrade", b"X-Request-Id", b"Content-Length ", b" Content-Length",
]  # fmt: skip
PLAIN_VALUES = [b"here", b"*/*", b"7", b""]
ODD_VALUES = [
    b"0", b"07", b"+7", b"-1", b"7, 7", b" 7", b"7 ", b"close", b"Keep-Alive", b"chunked",
    b"100-continue", b"websocket", b"a\tb", b"a\r\n b", b"\x80", b"999999999",
]  # fmt: skip
NAMES = st.sampled_from(3 * PLAIN_NAMES + ODD_NAMES)
VALUES = st.sampled_from(4 * PLAIN_VALUES + ODD_VALUES)
LINES = st.lists(st.tuples(NAMES, st.sampled_from([b":", b": ", b": ", b" :"]), VALUES), max_size=4)
FIRST = st.sampled_from([
    b"POST /v1/x HTTP/1.1", b"POST /v1/y?z=%20 HTTP/1.1", b"POST /v1/steps HTTP/1.1",
    b"post /v1/x HTTP/1.1", b"POST /v1/x HTTP/1.0", b"GET /v1/x HTTP/1.1",
    b"POST /v1/x y HTTP/1.1", b"POST /v1/x  HTTP/1.1", b"POST /v1/\x80 HTTP/1.1",
])  # fmt: skip


@given(FIRST, LINES, st.sampled_from([b"\r\n", b"\r\n", b"\n"]), st.binary(max_size=9))
@settings(max_examples=1000)
def test_what_is_refused_without_parsing_is_one_whole_request_to_a_parser(
    first: bytes, lines: list[tuple[bytes, bytes, bytes]], end: bytes, body: bytes
) -> None:
    right = b"Content-Length: %d" % len(body)
    head = end.join([first, *map(b"".join, lines[1:]), right, *map(b"".join, lines[:1]), b"", b""])
    plain = ONE_REQUEST.match(head + body)
    if plain is not None and len(head + body) == plain.end() + int(plain[1]):
        seen = Seen(head + body)
        assert (seen.messages, seen.body) == (1, int(plain[1]))
        assert (seen.method, seen.goes_on) == (b"POST", True)
        assert not seen.parser.should_upgrade()


def test_the_commonest_request_is_refused_without_parsing() -> None:
    plain = ONE_REQUEST.match(ASKED)
    assert plain is not None
    assert len(ASKED) == plain.end() + int(plain[1])
