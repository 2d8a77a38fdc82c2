"""64 clients, each in a session of its own, where changes are kept and where they are not.

Their requests wait for the disk together (group commit), on the disk that the temporary folder is
on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from benchmarks.cases.crowd import CLIENTS, answered
from benchmarks.exchange import client_side, server_core
from benchmarks.figures import Figure
from benchmarks.harness import Harness, Measured, Spread
from benchmarks.plain_http import Connection, post
from benchmarks.servers import Server, free_port, gradwire_command, running

STEPS = {
    "steps": [
        {"tensor": "x", "value": [1, 2, 3], "requires_grad": True},
        {"op": "mul", "args": ["x", "x"], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "z"},
        {"backward": {"tensors": ["z"]}},
    ],
    "return": ["z", "x.grad"],
}
_WANTED = [2.0, 4.0, 6.0]


class Sessions:
    """A connection for each session, asking for the next gradient as soon as it has one."""

    def __init__(self, clients: int, port: int) -> None:
        self._port = port
        connection = Connection(port)
        self._requests = [self._made(connection) for _ in range(clients)]
        _, body = connection.exchange(self._requests[0])
        assert json.loads(body)["values"]["x.grad"]["data"] == _WANTED
        connection.close()

    @staticmethod
    def _made(connection: Connection) -> bytes:
        _, body = connection.exchange(post("/v1/sessions", b"{}"))
        return post(f"/v1/sessions/{json.loads(body)['id']}/steps", json.dumps(STEPS).encode())

    def measure(self, seconds: float) -> dict[str, Any]:
        """The time of each answer, and the answers per second."""
        return asyncio.run(self._measure(seconds))

    async def _measure(self, seconds: float) -> dict[str, Any]:
        times: list[float] = []
        started = perf_counter()
        end = started + seconds
        await asyncio.gather(*(self._ask(request, times, end) for request in self._requests))
        return {"times": times, "rate": len(times) / (perf_counter() - started)}

    async def _ask(self, request: bytes, times: list[float], end: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        asked = False
        try:
            while not asked or perf_counter() < end:  # each at least once, however late it is
                asked = True
                started = perf_counter()
                writer.write(request)
                if not await answered(reader):
                    raise RuntimeError("a change was refused")
                times.append(perf_counter() - started)
        finally:
            writer.close()


def figures(harness: Harness) -> Sequence[Figure]:
    """What is left of the throughput where every answer waits for the disk."""
    with ExitStack() as stack, TemporaryDirectory() as folder:
        sides = {}
        for name, options in (("kept", ["--data", folder]), ("not", [])):
            port = stack.enter_context(_served(options)).port
            arguments = {"clients": CLIENTS, "port": port}
            sides[name] = client_side("benchmarks.cases.durable:Sessions", arguments)
        found = harness.take_turns(sides)
        return [_share(found["kept"], found["not"])]


@contextmanager
def _served(options: list[str]) -> Iterator[Server]:
    port = free_port()
    command = [*gradwire_command(port), *options]
    extra = {"GRADWIRE_TENANT_RATE": "1e9", "GRADWIRE_TENANT_SECONDS": "1e9"}
    with running(command, port, core=server_core(), extra=extra) as server:
        yield server


def _share(kept: Measured, plain: Measured) -> Figure:
    pairs = zip(kept.replies, plain.replies, strict=True)
    ratio = Spread.of([a["rate"] / b["rate"] for a, b in pairs])
    rates = [median(r["rate"] for r in m.replies) for m in (kept, plain)]
    note = f"{rates[0]:.0f} changes a second against {rates[1]:.0f}"
    title = f"{CLIENTS} durable sessions: throughput / that of others"
    return Figure(title, 0.3, ratio, note, at_least=True)
