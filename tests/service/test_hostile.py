"""Bodies and connections meant to harm: each refused with its code, memory bounded, others served.

The server is a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
import zstandard
from tests.service.test_cli import serving

MIB = 2**20
LIMIT = 256 * MIB
"""What sessions and requests may hold together."""
GRADIENT = {
    "steps": [
        {"zero_grad": ["x"]}, {"op": "mul", "args": ["x", "x"], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "z"}, {"backward": {"tensors": ["z"]}},
    ],
    "return": ["x.grad"],
}  # fmt: skip
"""What somebody else does meanwhile, on a connection of their own."""
SLACK = 3 * 64 * MIB + 64 * MIB
"""What the process may grow by beside that: the freed memory that each thread's heap keeps (see
docs/adr/freed-memory.md; two threads compute, and the event loop's), and the pieces of libraries.
"""


class Target(NamedTuple):
    """The server, and how much memory it had at the start."""

    url: str
    pid: int
    before: int
    bystander: httpx.Client

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    def peak(self) -> int:
        """The most memory that it ever had."""
        return _status(self.pid, "VmHWM")

    def check(self) -> None:
        """It serves others as ever, with what they hold, and its memory is bounded."""
        began = time.monotonic()
        assert httpx.get(f"{self.url}/health/ready").status_code == 200
        assert time.monotonic() - began < 5.0
        reply = self.bystander.post("/steps", json=GRADIENT)
        assert time.monotonic() - began < 10.0
        assert reply.json()["values"]["x.grad"]["data"] == [2.0, 4.0, 6.0], reply.text
        assert self.peak() - self.before < LIMIT + SLACK

    def exchange(self, *pieces: bytes, wait: float = 30) -> bytes:
        """Send pieces, and all that comes back until the end."""
        with socket.create_connection(self.address, timeout=wait) as connection:
            try:
                for piece in pieces:
                    connection.sendall(piece)
            except OSError:
                pass  # cut off
            return _all(connection)


def _all(connection: socket.socket) -> bytes:
    found = b""
    try:
        while data := connection.recv(65536):
            found += data
    except OSError:
        pass
    return found


def _status(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise AssertionError(field)


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    settings = {
        "GRADWIRE_SERVER_BYTES": str(LIMIT), "GRADWIRE_TENANT_BYTES": str(LIMIT),
        "GRADWIRE_BODY_BYTES": str(64 * MIB), "GRADWIRE_BODY_SECONDS": "1.5",
        "GRADWIRE_HEADER_SECONDS": "1", "GRADWIRE_CONNECTIONS": "700", "GRADWIRE_WORKERS": "2",
    }  # fmt: skip
    with serving("--port", 0, "--log", "none", **settings) as (process, url):
        made = httpx.post(f"{url}/v1/sessions", json={}).json()["id"]
        leaf = {"tensor": "x", "value": [1, 2, 3], "requires_grad": True}
        with httpx.Client(base_url=f"{url}/v1/sessions/{made}") as bystander:
            bystander.post("/steps", json={"steps": [leaf]})
            yield Target(url, process.pid, _status(process.pid, "VmRSS"), bystander)


def head(path: str, length: int | None, *more: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *more]
    lines += [] if length is None else [f"Content-Length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


def refused(received: bytes, status: int, code: str) -> None:
    top, _, body = received.partition(b"\r\n\r\n")
    assert top.startswith(b"HTTP/1.1 %d" % status), received[:300]
    assert json.loads(body)["code"] == code


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_decompression_bombs(target: Target, name: str) -> None:
    zeros = b" " * (512 * MIB)
    body = gzip.compress(zeros, 1) if name == "gzip" else zstandard.compress(zeros)
    headers = {"content-encoding": name, "content-type": "application/json"}
    for _ in range(3):
        reply = httpx.post(f"{target.url}/v1/sessions", content=body, headers=headers)
        assert (reply.status_code, reply.json()["code"]) == (413, "payload_too_large")
    target.check()


def test_a_length_of_ten_gigabytes(target: Target) -> None:
    refused(target.exchange(head("/v1/sessions", 10**10), b"{"), 413, "payload_too_large")
    target.check()


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_a_million_nested_brackets(target: Target, opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    for body in (opening * 10**6, opening * 10**6 + b"1" + closing * 10**6):
        reply = httpx.post(f"{target.url}/v1/sessions", content=body,
                           headers={"content-type": "application/json"})  # fmt: skip
        assert reply.json()["code"] in ("limit_exceeded", "invalid_json", "memory_limit")
    target.check()


def test_a_million_names(target: Target) -> None:
    session = httpx.post(f"{target.url}/v1/sessions", json={}).json()["id"]
    path = f"{target.url}/v1/sessions/{session}"
    names = [f"n{i}" for i in range(10**6)]
    bodies: list[tuple[str, object]] = [
        ("limit_exceeded", {"steps": [{"tensor": n, "value": 1} for n in names[:200_000]]}),
        ("tensor_not_found", {"steps": [{"free": names}]}),
        ("limit_exceeded", {"steps": [], "return": names}),
        ("limit_exceeded", dict.fromkeys(names, 1)),
    ]
    for code, body in bodies:
        reply = httpx.post(f"{path}/steps", json=body, timeout=120)
        assert reply.json()["code"] in (code, "memory_limit"), reply.text[:300]
    target.check()
    httpx.delete(path)


def test_empty_lists_that_become_objects(target: Target) -> None:
    """JSON of a few bytes each makes objects twenty times as large."""
    body = b'{"steps": [' + b"[]," * (16 * MIB) + b"[]]}"
    reply = httpx.post(f"{target.url}/v1/sessions", content=body, timeout=120,
                       headers={"content-type": "application/json"})  # fmt: skip
    assert reply.status_code in (422, 507), reply.text[:300]
    target.check()


def test_five_hundred_slow_senders(target: Target) -> None:
    began = time.monotonic()
    with ExitStack() as stack:
        slow = [
            stack.enter_context(socket.create_connection(target.address, timeout=30))
            for _ in range(500)
        ]
        for connection in slow:
            connection.sendall(head("/v1/sessions", 1000) + b"{")
        target.check()
        alive = slow
        while alive and time.monotonic() - began < 20:
            time.sleep(1)
            still = []
            for connection in alive:
                try:
                    connection.setblocking(False)
                    if connection.recv(65536).startswith(b"HTTP/1.1 408"):
                        continue
                    raise AssertionError("another end")
                except BlockingIOError:
                    connection.setblocking(True)
                    connection.sendall(b" ")
                    still.append(connection)
            alive = still
            target.check()
        assert not alive


def test_half_open_connections(target: Target) -> None:
    with ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection(target.address, timeout=10))
            for _ in range(300)
        ]
        for connection in silent[:150]:
            connection.sendall(b"POST /v1/sessions HT")
        target.check()
        for connection in silent:
            refused(_all(connection), 408, "request_timeout")
    target.check()


def test_too_many_connections(target: Target) -> None:
    with ExitStack() as stack:
        for _ in range(700):
            stack.enter_context(socket.create_connection(target.address, timeout=10))
        time.sleep(0.2)
        received = target.exchange(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        refused(received, 503, "overloaded")
        assert b"retry-after" in received
    time.sleep(1.5)
    target.check()


@pytest.mark.parametrize(
    "lines",
    [[f"X-{i}: a" for i in range(20_000)], ["X: " + "a" * 10**6], ["Cookie: a"] * 100_000],
    ids=["many", "long", "again"],
)
def test_floods_of_headers(target: Target, lines: list[str]) -> None:
    refused(target.exchange(head("/v1/sessions", 2, *lines), b"{}"), 413, "limit_exceeded")
    target.check()


def test_a_head_that_never_ends(target: Target) -> None:
    received = target.exchange(b"GET / HTTP/1.1\r\n", *[b"X: " + b"a" * 1000 + b"\r\n"] * 100_000)
    assert received == b"" or received.startswith(b"HTTP/1.1 413")
    target.check()


@pytest.mark.parametrize(
    "path",
    ["/v1/../../etc/passwd", "/v1/sessions/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
     "/v1/sessions/s_1%2Fsteps", "/v1/sessions//steps", "/v1/sessions/%00", "/errors/../../app.py",
     "/v1/sessions/" + "a" * 10_000, "/%ff%fe", "/v1/ops/..%2f..%2f"],
)  # fmt: skip
def test_tricks_with_paths(target: Target, path: str) -> None:
    for method in (b"GET", b"POST", b"DELETE"):
        sent = (
            b"%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
        )
        received = target.exchange(sent % (method, path.encode()))
        assert received.startswith((b"HTTP/1.1 404", b"HTTP/1.1 405")), received[:200]
        assert b"root:" not in received
    target.check()


@pytest.mark.parametrize("junk", [b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"\0" * 100])
def test_what_is_no_http(target: Target, junk: bytes) -> None:
    refused(target.exchange(junk), 400, "invalid_body")


def test_guessed_ids(target: Target) -> None:
    with httpx.Client(base_url=target.url) as client:
        for i in range(300):
            assert client.get(f"/v1/sessions/s_{i:024x}").status_code == 404
    target.check()


CHUNKED = b"POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("path", [b"/v1/sessions", b"/v1/nowhere"])
@pytest.mark.parametrize(
    ("opening", "line"),
    [
        (b"0\r\n", b"X: " + b"a" * 1000 + b"\r\n"), (b"0\r\nX: ", b"a" * 1000),
        (b"2\r\n{}\r\n0\r\n", b"X: " + b"a" * 1000 + b"\r\n"), (b"1;x=", b"a" * 1000),
    ],
    ids=["trailers", "trailer", "behind a body", "chunk"],
)  # fmt: skip
def test_trailers_that_never_end(target: Target, path: bytes, opening: bytes, line: bytes) -> None:
    """Behind a body that is read, and behind one that nobody wants: cut off early."""
    sent = 0
    with socket.create_connection(target.address, timeout=30) as connection:
        connection.sendall(CHUNKED % path + opening)
        with suppress(ConnectionError):
            for sent in range(100_000):  # noqa: B007  (it is, below)
                connection.sendall(line)
        received = _all(connection)
    assert sent * len(line) < 32 * MIB
    assert received == b"" or received.startswith((b"HTTP/1.1 404", b"HTTP/1.1 413"))
    target.check()


def test_trailers_are_dropped(target: Target) -> None:
    """They are no headers: not of this request, and not of the next on the connection."""
    body = b"2\r\n{}\r\n0\r\nGradwire-Timeout: -1\r\nX-Request-Id: trailer\r\n\r\n"
    last = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    received = target.exchange(CHUNKED % b"/v1/sessions" + body, last)
    assert received.startswith(b"HTTP/1.1 201")
    assert received.count(b"HTTP/1.1 200") == 1
    assert b"trailer" not in received


def test_a_body_that_nobody_reads_ends_the_connection(target: Target) -> None:
    """Unless the little that is left of it comes soon."""
    many = target.exchange(head("/v1/nowhere", 10**8), b"a" * 1000)
    none = target.exchange(head("/v1/nowhere", 10))
    chunks = target.exchange(CHUNKED % b"/v1/nowhere" + b"1\r\na\r\n")
    for received in (many, none, chunks):
        assert received.startswith(b"HTTP/1.1 404"), received[:100]
        assert b"connection: close" in received
    last = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    received = target.exchange(head("/v1/nowhere", 10), b"0123456789" + last)
    assert received.startswith(b"HTTP/1.1 404")
    assert b"HTTP/1.1 200" in received
