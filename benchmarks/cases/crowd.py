"""64 clients at once: nothing is lost, more gets through, nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.exchange import client_side, served
from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness, Measured, Spread
from benchmarks.messages import gradwire

CLIENTS = 64


class Crowd:
    """That many connections, each asking again as soon as it has its answer."""

    def __init__(self, clients: int, port: int) -> None:
        self._clients, self._port = clients, port
        self._request = gradwire(3).request

    def measure(self, seconds: float) -> dict[str, Any]:
        """The time of each answer, the answers per second, and how many never came."""
        return asyncio.run(self._measure(seconds))

    async def _measure(self, seconds: float) -> dict[str, Any]:
        times: list[float] = []
        started = perf_counter()
        end = started + seconds
        asked = await asyncio.gather(*(self._ask(times, end) for _ in range(self._clients)))
        wall = perf_counter() - started
        return {"times": times, "rate": len(times) / wall, "lost": sum(asked) - len(times)}

    async def _ask(self, times: list[float], end: float) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        asked = 0
        try:
            while not asked or perf_counter() < end:  # each at least once, however late it is
                asked += 1
                started = perf_counter()
                writer.write(self._request)
                if await answered(reader):
                    times.append(perf_counter() - started)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the answer that never came is counted as lost
        finally:
            writer.close()
        return asked


async def answered(reader: asyncio.StreamReader) -> bool:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    start = head.index(b"content-length:") + len(b"content-length:")
    await reader.readexactly(int(head[start : head.index(b"\r\n", start)]))
    return head[9:12] == b"200"


def figures(harness: Harness) -> Sequence[Figure]:
    """Throughput as a multiple of one client's; the slowest hundredth; the lost."""
    with served("gradwire") as server:
        sides = {
            name: client_side(
                "benchmarks.cases.crowd:Crowd", {"clients": clients, "port": server.port}
            )
            for name, clients in (("one", 1), ("all", CLIENTS))
        }
        found = harness.take_turns(sides)
    one, all_ = found["one"], found["all"]
    return [_throughput(one, all_), _slowest(one, all_), _lost(all_)]


def _throughput(one: Measured, all_: Measured) -> Figure:
    pairs = zip(all_.replies, one.replies, strict=True)
    ratio = Spread.of([a["rate"] / b["rate"] for a, b in pairs])
    rates = [median(r["rate"] for r in m.replies) for m in (all_, one)]
    note = f"{rates[0]:.0f} answers a second against {rates[1]:.0f}"
    return Figure(f"{CLIENTS} clients: throughput / one client's", 1.5, ratio, note, at_least=True)


def _slowest(one: Measured, all_: Measured) -> Figure:
    slow = [float(np.percentile(r["times"], 99)) for r in all_.replies]
    ratio = [s / (CLIENTS * m) for s, m in zip(slow, one.medians, strict=True)]
    note = f"p99 {duration(median(slow))}, one client's p50 {duration(one.seconds)}"
    return Figure(
        f"{CLIENTS} clients: p99 / ({CLIENTS} × one client's p50)", 3, Spread.of(ratio), note
    )


def _lost(all_: Measured) -> Figure:
    lost = [float(r["lost"]) for r in all_.replies]
    total = sum(len(r["times"]) for r in all_.replies)
    return Figure(
        f"{CLIENTS} clients: answers lost", 0, Spread(sum(lost), min(lost), max(lost)),
        f"of {total}",
    )  # fmt: skip
