"""Streams meant to harm: each refused with its code or cut off, memory bounded, others served."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from tests.service.conftest import Running, running
from tests.service.streams import Stream, address, packed, streaming
from tests.service.test_http_lanes import SLOW
from tests.service.test_stream import until
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from gradwire_service.host.limits import Limits

MIB = 2**20
LIMITS = Limits(
    body_bytes=8 * MIB, body_seconds=1, body_rate=1024, ping_seconds=0.4, tenant_bytes=64 * MIB
)
DEEP = '{"id": 1, "steps": [{"tensor": "x", "value": ' + "[" * 5000 + "]" * 5000 + "}]}"


@pytest.fixture(scope="module")
def strict() -> Iterator[Running]:
    with running(LIMITS) as found:
        yield found


@pytest.fixture
def stream(strict: Running) -> Iterator[Stream]:
    session = strict.session()
    session.steps({"tensor": "n", "value": 7.0})
    with streaming(strict, session) as found:
        yield found
        assert found.values(returns=("n",)) == {"n": 7.0}, "the stream goes on, nothing changed"
    assert strict.client.get("/health/ready").status_code == 200


BAD: dict[str, tuple[bytes | str, str, object]] = {
    "nothing": ("", "invalid_json", None),
    "no JSON": ("steps", "invalid_json", None),
    "no UTF-8 id": ('{"id": "\ud800", "steps": []}', "invalid_json", None),
    "half of it": ('{"id": 1, "steps": [', "invalid_json", 1),
    "more behind it": ('{"id": 1, "steps": []} {}', "invalid_json", 1),
    "a comma too many": ('{"id": 1,}', "invalid_json", None),
    "a list": ("[1]", "invalid_request", None),
    "a number": ("1", "invalid_request", None),
    "no id": ('{"steps": []}', "invalid_request", None),
    "id: null": ('{"id": null, "steps": []}', "invalid_request", None),
    "id: a float": ('{"id": 1.5, "steps": []}', "invalid_request", None),
    "id: a bool": ('{"id": true, "steps": []}', "invalid_request", None),
    "id: a list": ('{"id": [1], "steps": []}', "invalid_request", None),
    "id: too long": (json.dumps({"id": "a" * 129, "steps": []}), "invalid_request", None),
    "id: too many digits": ('{"id": 99999999999999999999}', "invalid_request", None),
    "no steps": ('{"id": 1}', "invalid_request", 1),
    "steps: no list": ('{"id": 2, "steps": {}}', "invalid_request", 2),
    "an unknown member": ('{"id": 3, "steps": [], "session": "x"}', "invalid_request", 3),
    "ops": ('{"id": 3, "ops": []}', "invalid_request", 3),
    "headers: a list": ('{"id": 4, "headers": [], "steps": []}', "invalid_request", 4),
    "headers: another": ('{"id": 5, "headers": {"Host": "x"}, "steps": []}', "invalid_request", 5),
    "headers: a key": (
        '{"id": 5, "headers": {"Authorization": "Bearer x"}, "steps": []}', "invalid_request", 5,
    ),
    "headers: a line": (
        '{"id": 5, "headers": {"X-Request-Id": "a\\r\\nb"}, "steps": []}', "invalid_request", 5,
    ),
    "headers: null": ('{"id": 6, "headers": {"Accept": null}, "steps": []}', "invalid_request", 6),
    "timeout: a word": (
        '{"id": 7, "headers": {"Gradwire-Timeout": "soon"}, "steps": []}', "invalid_request", 7,
    ),
    "timeout: below 0": (
        '{"id": 7, "headers": {"Gradwire-Timeout": -1}, "steps": []}', "invalid_request", 7,
    ),
    "idempotency key: empty": (
        '{"id": 8, "headers": {"Idempotency-Key": ""}, "steps": []}', "invalid_request", 8,
    ),
    "accept: a page": ('{"id": 9, "headers": {"Accept": "text/html"}, "steps": []}',
                       "not_acceptable", 9),
    "accept: npy": ('{"id": 9, "headers": {"Accept": "application/x-npy"}, "steps": []}',
                    "not_acceptable", 9),
    "data: a word": ('{"id": 10, "data": "some", "steps": []}', "invalid_request", 10),
    "data: a list": ('{"id": 10, "data": [], "steps": []}', "invalid_request", 10),
    "too deep": (DEEP, "limit_exceeded", 1),
    "very deep": ('{"id": 1, "steps": ' + "[" * 10**5, "limit_exceeded", 1),
    "too many steps": (
        json.dumps({"id": 11, "steps": [{"free": []}] * 5000}), "limit_exceeded", 11,
    ),
    "an absent name": (
        '{"id": 12, "steps": [{"op": "add_", "args": ["n", 1]}], "return": ["no"]}',
        "tensor_not_found", 12,
    ),
    "a failing step": (
        '{"id": 13, "steps": [{"op": "add_", "args": ["n", 1]}, {"op": "no_op"}]}',
        "op_not_found", 13,
    ),
    "binary: nothing": (b"", "invalid_body", None),
    "binary: rubbish": (os.urandom(1000), "invalid_body", None),
    "binary: JSON": (b'{"id": 1, "steps": []}', "invalid_body", None),
    "binary: zeros": (bytes(1000), "invalid_body", None),
    "binary: no request": (packed({}, {})[:8] + b" " * 16, "invalid_body", None),
    "binary: cut": (packed({"id": 1, "steps": []}, {})[:-3], "invalid_body", None),
    "binary: no id": (packed({"steps": []}, {}), "invalid_request", None),
    "binary: an absent array": (
        packed({"id": 14, "steps": [{"tensor": "x", "value": {"binary": "x"}}]}, {}),
        "invalid_request", 14,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_messages(stream: Stream, name: str) -> None:
    message, code, key = BAD[name]
    if isinstance(message, str):
        message = message.encode("utf-8", "surrogatepass")
        stream.connection.send(message, text=True)
    else:
        stream.send(message)
    found = stream.take()
    assert (found["code"], found["id"]) == (code, key), found
    assert found["type"] == f"/errors/{code}" and found["detail"]


class Raw:
    """A connection whose bytes the test writes itself."""

    def __init__(self, server: Running) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        key = base64.b64encode(os.urandom(16)).decode()
        path = address(server, server.session().id).partition(f":{server.port}")[2]
        head = [
            f"GET {path} HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}", "", "",
        ]  # fmt: skip
        self.send("\r\n".join(head).encode())
        received = b""
        while b"\r\n\r\n" not in received:
            received += self.socket.recv(65536)
        assert received.startswith(b"HTTP/1.1 101")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *exc: object) -> None:
        self.socket.close()

    def frames(self) -> list[tuple[int, bytes]]:
        """The first byte of each frame that comes until the end, and what it carries."""
        received = b""
        with suppress(OSError):
            while data := self.socket.recv(65536):
                received += data
        found = []
        while received:
            size, start = received[1], 2
            if size > 125:
                start = 4 if size == 126 else 10
                size = int.from_bytes(received[2:start], "big")
            found.append((received[0], received[start : start + size]))
            received = received[start + size :]
        return found

    def closed(self) -> tuple[int, str | None]:
        """The code with which the server closed, and the code of the error that it told before."""
        found = self.frames()
        told = [json.loads(data)["code"] for first, data in found if first == 0x81]
        assert found and found[-1][0] == 0x88, found[-3:]
        return int.from_bytes(found[-1][1][:2], "big"), told[-1] if told else None


@contextmanager
def raws(server: Running, count: int) -> Iterator[list[Raw]]:
    """Some of them, closed at the end."""
    with ExitStack() as stack:
        yield [stack.enter_context(Raw(server)) for _ in range(count)]


def head(first: int, length: int) -> bytes:
    """The head of a masked frame, with a mask of zeros."""
    size = 127 if length > 65535 else 126 if length > 125 else length
    extra = struct.pack("!Q", length) if size == 127 else b""
    extra = struct.pack("!H", length) if size == 126 else extra
    return bytes([first, 0x80 | size]) + extra + bytes(4)


def frame(first: int, data: bytes) -> bytes:
    return head(first, len(data)) + data


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (head(0x82, 10**10), 1009), (head(0x81, 9 * MIB), 1009), (b"\x81\x02hi", 1002),
        (frame(0x83, b""), 1002), (frame(0xC1, b"{}"), 1002), (frame(0x80, b"{}"), 1002),
        (frame(0x01, b"a") + frame(0x81, b"a"), 1002), (frame(0x09, b"a"), 1002),
        (frame(0x89, b"a" * 126), 1002), (frame(0x88, b"\x03"), 1002),
    ],
    ids=["10 GB", "too large", "no mask", "unknown", "reserved bits", "nothing to continue",
         "two at once", "a ping in pieces", "a long ping", "a short close"],
)  # fmt: skip
def test_bad_frames(strict: Running, sent: bytes, code: int) -> None:
    with Raw(strict) as raw:
        raw.send(sent)
        assert raw.closed() == (code, None)


def test_slow_senders(strict: Running) -> None:
    """One byte in a while, or none after a beginning: told so, and cut off."""
    with raws(strict, 2) as (silent, slow):
        silent.send(head(0x81, 1000) + b"{")
        slow.send(head(0x81, 100_000))
        began = time.monotonic()
        with suppress(OSError):
            while time.monotonic() - began < 3:
                slow.send(b" ")
                time.sleep(0.05)
        assert silent.closed() == slow.closed() == (1008, "request_timeout")


def test_a_message_of_pieces_that_never_ends(serve: Callable[..., Running]) -> None:
    server = serve(Limits(body_bytes=MIB, header_bytes=1024, body_seconds=2))
    with Raw(server) as raw:
        raw.send(frame(0x01, b"{"))
        for _ in range(20):
            raw.send(frame(0x00, b"") * 10_000)
        assert raw.closed() == (1008, "payload_too_large")
    drained(server)


def test_who_goes_on_after_a_refusal_is_not_listened_to(serve: Callable[..., Running]) -> None:
    server = serve(Limits(body_bytes=64 * MIB, tenant_bytes=20 * MIB, body_seconds=2))
    with Raw(server) as raw:
        with suppress(OSError):
            raw.send(head(0x82, 60 * MIB))
            for _ in range(60):
                raw.send(bytes(MIB))
                assert server.service.host.ledger.held <= 20 * MIB
        assert raw.closed() == (1008, "memory_limit")
    drained(server)


def drained(server: Running) -> None:
    """All streams end soon, and what they held is given back."""
    end = time.monotonic() + 15
    while server.service.everybody.streams or server.service.host.ledger.held > MIB:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_what_comes_counts_as_held(serve: Callable[..., Running]) -> None:
    server = serve(Limits(body_bytes=8 * MIB, tenant_bytes=20 * MIB, body_seconds=2))
    with raws(server, 4) as (*first, last):
        for raw in first:
            raw.send(head(0x82, 8 * MIB) + bytes(6 * MIB))
        until(lambda: server.service.host.ledger.held > 17 * MIB)
        with suppress(OSError):
            last.send(head(0x82, 8 * MIB) + bytes(6 * MIB))
        assert last.closed() == (1008, "memory_limit")
    drained(server)


def test_who_reads_no_replies_is_cut_off(strict: Running) -> None:
    """A flood of messages waits in the client: the server reads no more than it can answer."""
    step = {"tensor": "x", "value": [0.5] * 3000}
    message = json.dumps({"id": 1, "steps": [step], "return": ["x"]}).encode()
    with Raw(strict) as raw:
        raw.socket.settimeout(4)
        sent = 0
        with suppress(OSError):
            for sent in range(20_000):  # noqa: B007
                raw.send(frame(0x81, message))
        assert sent < 5000
        assert strict.service.host.ledger.held < 10 * MIB
        drained(strict)


def test_who_says_goodbye_and_reads_nothing_is_left(strict: Running) -> None:
    step = {"op": "rand", "args": [[1_000_000]], "out": "x"}
    message = json.dumps({"id": 1, "steps": [step], "return": ["x"]}).encode()
    with Raw(strict) as raw:
        raw.send(frame(0x81, message))
        time.sleep(0.7)
        assert connected(raw)
        raw.send(frame(0x88, struct.pack("!H", 1000)))
        until(lambda: not strict.service.everybody.streams)
        until(lambda: not connected(raw))


def test_who_says_goodbye_before_a_reply_is_no_failure(
    strict: Running, capfd: pytest.CaptureFixture[str]
) -> None:
    message = {"id": 1, "steps": SLOW, "headers": {"Idempotency-Key": "kept"}}
    with Raw(strict) as raw:
        raw.send(frame(0x81, json.dumps(message).encode()))
        until(lambda: strict.service.executor.waiting == 1)
        raw.send(frame(0x88, struct.pack("!H", 1000)))
        until(lambda: strict.service.executor.waiting == 0)
        until(lambda: not strict.service.everybody.streams)
    assert "Traceback" not in capfd.readouterr().err


def connected(raw: Raw) -> bool:
    """Whether the server still holds the connection."""
    port = f":{raw.socket.getsockname()[1]:04X} 01 "
    rows = Path("/proc/net/tcp").read_text().splitlines()
    return any(port in row for row in rows)


def test_a_flood_of_pings_that_nobody_reads(strict: Running) -> None:
    with Raw(strict) as raw:
        raw.socket.settimeout(3)
        sent = 0
        with suppress(OSError):
            for sent in range(2000):  # noqa: B007
                raw.send(frame(0x89, b"a" * 125) * 500)
        assert sent < 1900
    assert strict.client.get("/health/ready").status_code == 200


def test_who_answers_no_pings_is_left(strict: Running) -> None:
    with Raw(strict) as raw:
        began = time.monotonic()
        assert {first for first, _ in raw.frames()} == {0x89}
        assert 0.7 < time.monotonic() - began < 4


def test_who_answers_pings_may_stay(strict: Running) -> None:
    with streaming(strict, strict.session()) as stream:
        time.sleep(2)
        assert stream.ask()["values"] == {}


def test_messages_may_wait_while_one_runs(strict: Running) -> None:
    """A client may send far more than it takes replies: all is answered, in order."""
    with streaming(strict, strict.session()) as stream:
        stream.send(stream.message(*SLOW))
        for _ in range(100):
            stream.send(stream.message({"tensor": "x", "value": [1.0] * 100}))
        assert [stream.take()["id"] for _ in range(101)] == list(range(1, 102))


def test_a_flood_does_not_keep_health_waiting(strict: Running) -> None:
    """It is told while most of the flood is still to be answered."""
    steps = [{"tensor": "x", "value": [1.0] * 100}] * 60
    parts = []
    for _ in range(5):  # what else runs here only adds: one quiet attempt is enough
        with streaming(strict, strict.session()) as stream:
            for _ in range(800):
                stream.send(stream.message(*steps))
            began = time.monotonic()
            assert strict.client.get("/health/ready").status_code == 200
            waited = time.monotonic() - began
            assert [stream.take()["id"] for _ in range(800)] == list(range(1, 801))
            parts.append(waited / (time.monotonic() - began))
        if parts[-1] < 0.5:
            break
    assert min(parts) < 0.5


def test_streams_of_a_tenant_are_bounded(serve: Callable[..., Running]) -> None:
    """One more is refused at its handshake, also with a key for retries; others have their own."""
    keys = ["one:a-key-of-the-first-one", "two:a-key-of-the-second"]
    server = serve(Limits(tenant_streams=2), keys=keys)
    one, two = ({"Authorization": f"Bearer {key.partition(':')[2]}"} for key in keys)

    @contextmanager
    def opened(headers: dict[str, str]) -> Iterator[None]:
        made = server.other(**headers).post("/v1/sessions", json={}).json()["id"]
        with connect(address(server, made), additional_headers=headers):
            yield

    def left(number: int) -> None:
        until(lambda: server.service.tenants["one"].streams == number)

    with opened(one):
        with opened(one):
            for more in ({}, {"Idempotency-Key": "again"}, {"Idempotency-Key": "again"}):
                with pytest.raises(InvalidStatus) as raised, opened(one | more):
                    pass
                reply = raised.value.response
                assert (reply.status_code, json.loads(reply.body)["code"]) == (429, "rate_limited")
                assert int(reply.headers["retry-after"]) >= 1
            with opened(two):
                left(2)
        left(1)
        with opened(one):
            left(2)
    left(0)
