"""Connections for steps: kept, opened again where the server closed them, and none by a proxy."""

from __future__ import annotations

import gc
import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from socket import SHUT_RDWR
from typing import Any

import httpx
import numpy as np
import pytest
from tests.service.conftest import Running, running
from websockets.sync.server import ServerConnection, serve

import gradwire as torch
from gradwire.direct import Direct
from gradwire.http import Http
from gradwire.messages import Messages
from gradwire.retrying import sent
from gradwire_engine.errors import GradwireError
from gradwire_service.host.limits import Limits


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(Limits(ping_seconds=0.1)) as found:
        yield found
    torch.connect()


def connections(session: Any) -> Direct:
    """Those of a session's transport."""
    transport = session.transport
    assert isinstance(transport, Http)
    assert transport._direct is not None
    return transport._direct


def test_one_connection_serves_all_steps(server: Running) -> None:
    with torch.connect(server.url).session() as session:
        x = torch.zeros(3)
        for done in range(1, 6):
            x = x + 1
            assert x.tolist() == [done] * 3
            (one,) = connections(session)._idle
            if done == 1:
                first = one.connection.sock
            assert one.connection.sock is first


def test_one_that_was_closed_is_opened_again_at_once(server: Running) -> None:
    with torch.connect(server.url).session() as session:
        x = torch.zeros(3)
        assert (x + 1).tolist() == [1.0] * 3
        connections(session)._idle[0].connection.sock.shutdown(SHUT_RDWR)
        began = time.monotonic()
        assert (x + 2).tolist() == [2.0] * 3
        assert time.monotonic() - began < 0.1, "no attempt was lost, which would have been waited"


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize("transport", ["http", "stream"])
def test_where_there_may_be_a_proxy_they_are_not_used(
    server: Running, transport: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with torch.connect(server.url, transport=transport).session() as session:
        assert session.transport._direct is None
        assert (torch.zeros(3) + 1).tolist() == [1.0] * 3


def test_a_key_that_is_no_header_is_refused(server: Running) -> None:
    with pytest.raises(Exception, match=r"header|ascii|codec") as refused:
        torch.connect(server.url, key="two\r\nlines").session()
    assert not isinstance(refused.value, AssertionError)


def test_a_body_that_is_refused_before_it_is_read_leaves_the_session() -> None:
    with running(Limits(body_bytes=200_000)) as strict, torch.connect(strict.url).session():
        for size in (100_000, 4_000_000):
            with pytest.raises(GradwireError) as refused:
                torch.tensor(np.zeros(size, np.float32)).sum().item()
            assert refused.value.code == "payload_too_large", size
            assert torch.tensor([1.0]).sum().item() == 1.0


def test_uploads_that_get_on_may_take_longer_than_the_timeout() -> None:
    """A server that reads a megabyte in a tenth of a second."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
                left = 8_000_000
                while left > 0 and (part := connection.recv(2**20)):
                    left -= len(part)
                    time.sleep(len(part) / 2**20 / 10)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        thread = threading.Thread(target=answer)
        thread.start()
        url = httpx.URL(f"http://127.0.0.1:{listener.getsockname()[1]}")
        direct = Direct(url, ssl.create_default_context(), {}, 0.5)
        assert direct.post("/", b"x" * 8_000_000, {}).json() == {}
        thread.join()
        direct.close()


OK = b"HTTP/1.1 200 OK\r\n"
LONG = b"x" * 3_000_000
REPLIES: list[tuple[bytes, bytes | None, bool]] = [
    (OK + b"Content-Length: 2\r\n\r\n{}", b"{}", True),
    (OK + b"Content-Length: 0\r\n\r\n", b"", True),
    (OK + b"Content-Length: 3000000\r\n\r\n" + LONG, LONG, True),
    (OK + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}", b"{}", False),
    (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", b"{}", True),
    (OK + b"\r\nuntil it closes", b"until it closes", False),
    (b"HTTP/1.0 200 OK\r\n\r\n" + LONG, LONG, False),
    (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\n{}", b"{}", True),
    (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
    (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", b"", True),
    (b"", None, False),
    (OK, None, False),
    (OK + b"Content-Length: 4\r\n\r\n{}", None, False),
    (OK + b"Content-Length: 3000000\r\n\r\n" + LONG[1:], None, False),
    (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", None, False),
    (OK + b"Content-Length: -1\r\n\r\n{}", None, False),
    (OK + b"Content-Length: 99999999999999999999999\r\n\r\n{}", None, False),
    (OK + b"Content-Length: 9223372036854775808\r\n\r\n{}", None, False),
    (OK + b"Content-Length: 900000000000000000\r\n\r\n{}", None, False),
    (OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", None, False),
    (OK + b"X: " + LONG, None, False),
    (OK + b"X: y\r\n" * 500_000, None, False),
    (OK + b"Transfer-Encoding: chunked\r\n\r\nz\r\n", None, False),
    ((OK + b"Content-Length: 2\r\n\r\n{}") * 2, None, False),
    (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", None, False),
    (b"SSH-2.0-OpenSSH_9.6\r\n", None, False),
]
"""What a server says before it closes, its body, and whether the connection is used again; None of
what is no reply."""


@contextmanager
def saying(*said: bytes, piece: int = 2**20) -> Iterator[httpx.URL]:
    """A server that says this to one connection after the other, and closes each."""

    def answer() -> None:
        for whole in said:
            connection, _ = listener.accept()
            with connection, suppress(ConnectionError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.recv(2**16)
                for start in range(0, len(whole), piece):
                    connection.sendall(whole[start : start + piece])

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer)
        thread.start()
        yield httpx.URL(f"http://127.0.0.1:{listener.getsockname()[1]}")
        thread.join()


def made(url: httpx.URL) -> Direct:
    return Direct(url, ssl.create_default_context(), {}, 5)


@pytest.mark.parametrize("piece", [2**20, 7])
@pytest.mark.parametrize(("said", "body", "kept"), REPLIES)
def test_replies_of_every_form_are_read_and_what_is_none_is_told(
    said: bytes, body: bytes | None, kept: bool, piece: int
) -> None:
    if piece == 7 and len(said) > 1000:
        piece = 70_001
    with saying(said, piece=piece) as url, closing(made(url)) as direct:
        if body is None:
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                direct.post("/", b"{}", {})
        else:
            assert direct.post("/", b"{}", {}).content == body
        assert bool(direct._idle) is kept


@pytest.mark.parametrize("said", [said for said, body, _ in REPLIES if body is None])
def test_what_is_no_reply_is_asked_again(said: bytes) -> None:
    right = OK + b"Content-Length: 2\r\n\r\n{}"
    with saying(said, right) as url, closing(made(url)) as direct:
        assert sent(lambda: direct.post("/", b"{}", {}), str(url)).content == b"{}"


def test_what_interrupts_a_reply_is_not_taken_for_what_is_handled_then() -> None:
    """As where a call in an `except` block waits for a server."""
    twice = (OK + b"Content-Length: 2\r\n\r\n{}") * 2
    with saying(twice) as url, closing(made(url)) as direct:
        try:
            raise KeyError("mine")
        except KeyError:
            with pytest.raises(httpx.RemoteProtocolError, match="twice"):
                direct.post("/", b"{}", {})


def test_replies_leave_nothing_for_the_collector() -> None:
    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            while connection.recv(2**16):
                connection.sendall(OK + b"Content-Length: 60000\r\n\r\n" + bytes(60_000))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer)
        thread.start()
        url = httpx.URL(f"http://127.0.0.1:{listener.getsockname()[1]}")
        with closing(made(url)) as direct:
            direct.post("/", b"{}", {})
            gc.disable()
            tracemalloc.start()
            try:
                for _ in range(100):
                    direct.post("/", b"{}", {})
                kept, _ = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
                gc.enable()
        thread.join()
    assert kept < 200_000


def test_a_stream_waits_no_longer_than_its_timeout_whatever_else_comes() -> None:
    def chatty(connection: ServerConnection) -> None:
        for _ in range(30):
            connection.ping()
            time.sleep(0.1)

    with serve(chatty, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        opened = Messages(f"ws://127.0.0.1:{server.socket.getsockname()[1]}", {}, 0.5)
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            opened.receive()
        assert time.monotonic() - began < 2
        opened.break_off()
        server.shutdown()
        thread.join()


def test_a_url_without_a_port_has_its_schemes() -> None:
    for url, port in (("http://[::1]", 80), ("https://localhost/x", 443), ("http://a:81", 81)):
        made = Direct(httpx.URL(url), ssl.create_default_context(), {}, 1.0)
        assert made._line().connection.port == port
        assert made._line().connection.host == httpx.URL(url).host


def test_a_stream_that_was_quiet_goes_on(server: Running) -> None:
    """The server asks whether anybody is there, and hears it with the next message, or closes."""
    with torch.connect(server.url, transport="stream").session():
        x = torch.zeros(3)
        for done in range(1, 4):
            x += 1
            assert x.tolist() == [done] * 3
            time.sleep(0.5)
        for done in range(4, 7):
            x += 1
            assert x.tolist() == [done] * 3
            time.sleep(0.05)
