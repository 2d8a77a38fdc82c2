"""A server that is killed while a request is under way, and started again from its data."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.clients.proxy import Exchange, Fault, between
from tests.clients.test_interrupts_remote import STEPS, TRANSPORTS, Loop, session_by, steps_of
from tests.service.crash.process import Process

import gradwire as torch


class Server:
    """A server on one port and one set of data, however often it is killed."""

    def __init__(self, data: str) -> None:
        self._data, self.kills = data, 0
        self.process = self._started(0)
        self.port = int(self.process.url.rpartition(":")[2])

    def _started(self, port: int) -> Process:
        return Process(self._data, ("--port", str(port)), "")

    def again(self) -> None:
        """Kill it, unless it is dead already, and start it."""
        self.process.kill()
        self.kills += 1
        self.process = self._started(self.port)

    # what becomes of a request

    def killed_before(self, exchange: Exchange) -> None:
        """The server is gone before the request arrives."""
        self.again()

    def killed_within(self, exchange: Exchange) -> None:
        """It was done, and isn't on the disk yet."""
        self.process.plan("before-commit:slow:1")
        exchange.pass_on()
        time.sleep(0.2)
        self.again()

    def killed_after(self, exchange: Exchange) -> None:
        """It is on the disk, and its reply isn't sent yet."""
        self.process.plan("after-commit:kill:1")
        exchange.pass_on()
        exchange.reply()
        self.again()

    def killed_late(self, exchange: Exchange) -> None:
        """The reply is sent, and doesn't arrive."""
        exchange.pass_on()
        exchange.reply()
        self.again()


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    postgres = request.param == "PostgreSQL"
    data = request.getfixturevalue("cluster").database() if postgres else tmp_path / "data"
    made = Server(str(data))
    yield made
    made.process.stop()
    torch.connect()


@pytest.fixture(scope="module")
def undisturbed() -> list[tuple[float, float]]:
    with torch.connect().session():
        return Loop().run()


@TRANSPORTS
def test_losses_go_on_however_the_server_dies(
    server: Server, transport: str, undisturbed: list[tuple[float, float]]
) -> None:
    kinds: list[Fault] = [
        server.killed_before, server.killed_within, server.killed_after, server.killed_late,
    ]  # fmt: skip

    def fault(number: int) -> Fault | None:
        return kinds[number // 3 % len(kinds)] if number % 3 == 1 else None

    with between(server.port) as proxy, session_by(proxy.url, transport) as session:
        loop = Loop()
        proxy.faults = fault
        assert loop.run() == undisturbed
        proxy.faults = lambda number: None
        assert server.kills >= len(kinds)
        assert not loop.interrupts  # the SDK asked again by itself
        assert steps_of(session) == [STEPS] * 4


@TRANSPORTS
def test_a_server_that_is_away_for_longer_than_the_sdk_waits(
    server: Server, transport: str, undisturbed: list[tuple[float, float]]
) -> None:
    away: list[int] = []

    def fault(number: int) -> Fault | None:
        return gone if number == 3 and not away else None

    def gone(exchange: Exchange) -> None:
        exchange.pass_on()
        server.process.kill()
        away.append(1)

    with between(server.port) as proxy, session_by(proxy.url, transport) as session:
        loop = Loop(server.again, (ConnectionError,))
        proxy.faults = fault
        assert loop.run() == undisturbed
        (told,) = loop.interrupts
        assert told.code in ("unanswered", "unreachable")
        assert steps_of(session) == [STEPS] * 4
