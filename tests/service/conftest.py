"""Real servers: uvicorn on a free loopback port, in a thread of the test process."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import httpx
import pytest
import uvicorn
from tests.service.crash.postgres import Postgres, need_postgres, postgres
from tests.service.crash.process import TLS

from gradwire_service.host.limits import Limits
from gradwire_service.http.app import create_app
from gradwire_service.http.serve import configured
from gradwire_service.http.service import Service


class Running:
    """A server that runs, and a client for it."""

    def __init__(self, service: Service, port: int) -> None:
        self.service = service
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._clients: list[httpx.Client] = []
        self.client = self.other()

    def other(self, **headers: str) -> httpx.Client:
        """One more client, which sends these headers with each request."""
        made = httpx.Client(base_url=self.url, headers=headers, timeout=60, verify=TLS)
        self._clients.append(made)
        return made

    def close(self) -> None:
        """Close its clients."""
        for client in self._clients:
            client.close()

    def session(self, **fields: object) -> Client:
        """A new session, and calls of it."""
        reply = self.client.post("/v1/sessions", json=fields)
        assert reply.status_code == 201, reply.text
        return Client(self.client, reply.json()["id"])


class Client:
    """The calls of one session."""

    def __init__(self, http: httpx.Client, key: str) -> None:
        self.http = http
        self.id = key
        self.path = f"/v1/sessions/{key}"

    def get(self, path: str = "", **fields: object) -> httpx.Response:
        return self.http.get(self.path + path, **fields)

    def post(self, path: str, body: object, **fields: object) -> httpx.Response:
        return self.http.post(self.path + path, json=body, **fields)

    def steps(self, *steps: object, returns: tuple[str, ...] = (), **fields: object) -> dict:
        """Run steps that must go well; the values they return."""
        reply = self.post("/steps", {"steps": list(steps), "return": list(returns), **fields})
        assert reply.status_code == 200, reply.text
        return reply.json()["values"]

    def refused(self, *steps: object, **fields: object) -> dict:
        """Run steps that must fail; the problem."""
        reply = self.post("/steps", {"steps": list(steps), **fields})
        assert reply.status_code >= 400, reply.text
        assert reply.headers["content-type"] == "application/problem+json"
        return reply.json()

    def data(self, name: str) -> object:
        """The elements of a tensor, or None for an absent gradient."""
        value = self.steps(returns=(name,))[name]
        return None if value is None else value["data"]


class _Server(uvicorn.Server):
    """uvicorn's server, which ends when it is told to: uvicorn takes two tenths of a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._told = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    async def main_loop(self) -> None:
        tick = 0
        while not await self.on_tick(tick):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._told.wait(), 0.1)
            tick += 1

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:
            await asyncio.sleep(0.005)
        for server in self.servers:
            await server.wait_closed()
        await self.lifespan.shutdown()

    def end(self) -> None:
        """Take no new work, and end what is under way."""
        self.should_exit = True
        with suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._told.set)


@contextmanager
def running(limits: Limits | None = None, **fields: object) -> Iterator[Running]:
    """A server while the block runs."""
    service = create_app(limits, **fields)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = _Server(configured(service))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        found = Running(service, listener.getsockname()[1])
        try:
            yield found
        finally:
            found.close()
            server.end()
            thread.join()


def until(true: Callable[[], object], seconds: float = 30) -> None:
    """Wait until this is so: a machine with other work may take long to get there."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def under_way(server: Running, count: int) -> Callable[[], object]:
    """Whether so many requests wait for a thread or run."""
    return lambda: server.service.executor.waiting >= count


@pytest.fixture(scope="session")
def cluster() -> Iterator[Postgres]:
    """A PostgreSQL of the tests' own; without one, the run says at its end what it left out."""
    need_postgres()
    with postgres() as found:
        yield found


@pytest.fixture(scope="session")
def server() -> Iterator[Running]:
    """One server with the default limits for all tests that need no other."""
    with running() as found:
        yield found


@pytest.fixture
def session(server: Running) -> Client:
    """A new session on it."""
    return server.session()


@pytest.fixture
def serve() -> Iterator[Callable[..., Running]]:
    """Servers with settings of their own."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        yield lambda limits=None, **fields: stack.enter_context(running(limits, **fields))
