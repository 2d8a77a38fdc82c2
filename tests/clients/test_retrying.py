"""The SDK asks again by itself, and what it asked for is done once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx
import pytest
from tests.service.conftest import running

import gradwire as torch
from gradwire.retrying import ATTEMPTS, key_for, sent
from gradwire_engine.errors import GradwireError
from gradwire_service.host.limits import Limits


class Waits(list[float]):
    """The seconds that would have been waited."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def busy(status: int = 503, seconds: str | None = None) -> httpx.Response:
    return httpx.Response(status, headers={} if seconds is None else {"retry-after": seconds})


def test_it_waits_as_long_as_it_is_told_and_a_little_more() -> None:
    waits = Waits()
    replies = iter([busy(429, "3"), busy(503), busy(503, "9999"), httpx.Response(200)])
    assert sent(lambda: next(replies), "", waits).status_code == 200
    assert 3.1 <= waits[0] <= 3.2
    assert 0.2 <= waits[1] <= 0.4
    assert 10.4 <= waits[2] <= 10.8  # a cap, whatever the server says


def test_it_gives_up_at_last() -> None:
    waits = Waits()
    assert sent(lambda: busy(), "", waits).status_code == 503
    assert len(waits) == ATTEMPTS - 1
    assert 3 < sum(waits) < 10  # a server that is started anew needs some seconds


@pytest.mark.parametrize(
    ("problem", "raised", "code", "attempts"),
    [
        (httpx.ConnectError("refused"), ConnectionError, "unreachable", ATTEMPTS),
        (httpx.RemoteProtocolError("gone"), ConnectionError, "unanswered", ATTEMPTS),
        (httpx.ReadTimeout("slow"), TimeoutError, "unanswered", 1),
        (httpx.ConnectTimeout("slow"), TimeoutError, "unreachable", 1),
    ],
)
def test_a_timeout_is_not_a_refusal(
    problem: Exception, raised: type[Exception], code: str, attempts: int
) -> None:
    asked = []

    def send() -> httpx.Response:
        asked.append(1)
        raise problem

    with pytest.raises(raised) as caught:
        sent(send, "http://x", Waits())
    assert isinstance(caught.value, GradwireError)
    assert (caught.value.code, len(asked)) == (code, attempts)


@pytest.mark.parametrize("kind", [ConnectionResetError, TimeoutError])
def test_what_a_handler_of_a_signal_raises_comes_through(kind: type[OSError]) -> None:
    """As httpx has it, where the handler ran in the midst of its reading."""
    own = kind("by the program")

    def send() -> httpx.Response:
        try:
            raise own
        except OSError as problem:
            raise httpx.ReadError("gone") from problem

    with pytest.raises(kind, match="by the program") as caught:
        sent(send, "http://x", Waits())
    assert caught.value is own


def test_what_the_caller_is_handling_is_not_what_went_wrong() -> None:
    def send() -> httpx.Response:
        raise httpx.ReadError("gone")

    try:
        raise TimeoutError("of something else")
    except TimeoutError:
        with pytest.raises(ConnectionError) as caught:
            sent(send, "http://x", Waits())
    assert caught.value.code == "unanswered"


def test_what_only_reads_has_no_key() -> None:
    assert key_for("GET") == {}
    assert key_for("POST") != key_for("POST")


@contextmanager
def losing(port: int, every: int) -> Iterator[int]:
    """A proxy that passes requests on, and loses the reply of some: the connection breaks."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        count = 0

        def pass_on(client: socket.socket) -> None:
            nonlocal count
            with client, socket.create_connection(("127.0.0.1", port)) as server:
                threading.Thread(target=copy, args=(client, server), daemon=True).start()
                while data := server.recv(65536):
                    count += 1
                    if count % every == 0:
                        break  # the server did it, and nobody hears of it
                    client.sendall(data)
                for one in (client, server):
                    with suppress(OSError):
                        one.shutdown(socket.SHUT_RDWR)

        def copy(client: socket.socket, server: socket.socket) -> None:
            with suppress(OSError):
                while data := client.recv(65536):
                    server.sendall(data)

        def accept() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=pass_on, args=(client,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


TRANSPORTS = pytest.mark.parametrize("transport", ["http", "stream"])


@TRANSPORTS
def test_lost_replies_are_asked_for_again_and_nothing_is_done_twice(transport: str) -> None:
    with running() as server, losing(server.port, 3) as port:
        client = torch.connect(f"http://127.0.0.1:{port}", transport=transport)
        try:
            with client.session():
                x = torch.zeros(1)
                for done in range(1, 13):
                    x += 1
                    assert x.item() == done
        finally:
            torch.connect()


@TRANSPORTS
def test_a_busy_server_is_waited_for(transport: str) -> None:
    with running(Limits(tenant_rate=4.0)) as server:
        client = torch.connect(server.url, transport=transport)
        try:
            with client.session():
                assert [torch.tensor(float(i)).item() for i in range(7)] == list(range(7))
        finally:
            torch.connect()
