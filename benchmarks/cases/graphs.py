"""Graphs of 1, 10 and 100 thousand nodes: time and memory per node stay the same.

A chain of a million is walked as well, without recursion; what a node of it costs is there to
compare.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness, Spread
from benchmarks.libraries import Engine
from benchmarks.side import Side

SIZES = (1_000, 10_000, 100_000)
LONGEST = 1_000_000
ALLOWED = 1.2  # within 20 %


class Graphs:
    """Builds as many graphs of a size as make `total` nodes, holds them, then walks each back.

    Every size thus holds and walks the same number of nodes, and is measured to the same precision.
    """

    def __init__(self, nodes: int, total: int) -> None:
        self._engine = Engine()
        self._nodes, self._graphs = nodes, max(1, total // nodes)
        self._start = self._engine.tensor(np.ones((8, 8), np.float32), requires_grad=True)
        self._factor = self._engine.tensor(np.ones((8, 8), np.float32))

    def measure(self, seconds: float) -> dict[str, Any]:  # noqa: ARG002 - one build takes its time
        """Seconds and bytes per node of one build and walk, however long that takes.

        Bytes are right the first time only: later the allocator has room to spare.
        """
        gc.collect()
        before = _resident()
        started = perf_counter()
        ends = [self._chain() for _ in range(self._graphs)]
        built = perf_counter() - started
        held = _resident() - before
        started = perf_counter()
        while ends:
            self._engine.grad(ends.pop(), [self._start])
        walked = perf_counter() - started
        nodes = self._nodes * self._graphs
        return {"times": [(built + walked) / nodes], "bytes": held / nodes}

    def _chain(self) -> Any:
        multiply, x = self._engine.ops.mul, self._start
        for _ in range(self._nodes - 1):
            x = multiply(x, self._factor)
        return self._engine.ops.sum(x)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def figures(harness: Harness) -> Sequence[Figure]:
    """The largest over the smallest of the three sizes."""
    sizes = [harness.settings.sized(n, 10) for n in SIZES]
    sides = {
        str(n): Side("benchmarks.cases.graphs:Graphs", {"nodes": n, "total": sizes[-1]}, threads=1)
        for n in sizes
    }
    found = harness.take_turns(sides, rounds=min(harness.settings.rounds, 7))
    seconds = {n: m.medians for n, m in found.items()}
    memory = {n: [m.first["bytes"]] for n, m in found.items()}
    return [
        _longest(harness),
        _figure("time", seconds, {n: duration(m.seconds) for n, m in found.items()}),
        _figure("memory", memory, {n: f"{v[0]:.0f} B" for n, v in memory.items()}),
    ]


def _longest(harness: Harness) -> Figure:
    sizes = [harness.settings.sized(n, 10) for n in (SIZES[1], LONGEST)]
    target = "benchmarks.cases.graphs:Graphs"
    sides = {str(n): Side(target, {"nodes": n, "total": sizes[-1]}, threads=1) for n in sizes}
    short, long = harness.take_turns(sides, rounds=min(harness.settings.rounds, 3)).values()
    note = f"{duration(long.seconds)} against {duration(short.seconds)}"
    return Figure("time per node of a million / of ten thousand", None, long.over(short), note)


def _figure(what: str, values: dict[str, list[float]], shown: dict[str, str]) -> Figure:
    ratios = [max(row) / min(row) for row in zip(*values.values(), strict=True)]
    note = ", ".join(f"{n} nodes: {text}" for n, text in shown.items())
    name = f"{what} per node at 1, 10, 100 thousand nodes: largest / smallest"
    return Figure(name, ALLOWED, Spread.of(ratios), note)
