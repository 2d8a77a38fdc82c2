"""What recording adds to a NumPy call on 8×8, and what a node costs on the way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness, Measured, Spread
from benchmarks.libraries import Engine
from benchmarks.side import Side

OPS: dict[str, tuple[str, int]] = {
    "add": ("add", 2),
    "mul": ("multiply", 2),
    "exp": ("exp", 1),
    "tanh": ("tanh", 1),
    "matmul": ("matmul", 2),
}
"""Ops with NumPy's name for them and the number of operands."""

CHAIN = 1000


def _operands(count: int) -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng(0)
    return [random.standard_normal((8, 8)).astype(np.float32) for _ in range(count)]


def bare(op: str) -> Callable[[], object]:
    """The NumPy call."""
    name, count = OPS[op]
    function, operands = getattr(np, name), _operands(count)
    return lambda: function(*operands)


def recorded(op: str) -> Callable[[], object]:
    """The op on tensors that require grad."""
    engine = Engine()
    function = getattr(engine.ops, op)
    operands = [engine.tensor(a, requires_grad=True) for a in _operands(OPS[op][1])]
    return lambda: function(*operands)


class Backward:
    """Walks back along a chain of multiplications by a constant; the time of the walk alone."""

    def __init__(self, nodes: int) -> None:
        self._engine, self._nodes = Engine(), nodes
        start, factor = _operands(2)
        self._start = self._engine.tensor(start, requires_grad=True)
        self._factor = self._engine.tensor(np.ones_like(factor))

    def measure(self, seconds: float) -> dict[str, Any]:
        """Seconds per node, from walks until `seconds` have gone by."""
        from time import perf_counter

        times: list[float] = []
        end = perf_counter() + seconds
        while perf_counter() < end or len(times) < 3:
            total = self._engine.ops.sum(self._chain())
            started = perf_counter()
            self._engine.grad(total, [self._start])
            times.append((perf_counter() - started) / self._nodes)
        return {"times": times}

    def _chain(self) -> Any:
        multiply, x = self._engine.ops.mul, self._start
        for _ in range(self._nodes):
            x = multiply(x, self._factor)
        return x


def figures(harness: Harness) -> Sequence[Figure]:
    """The geometric mean over the ops of what is added, as a multiple; then the walk."""
    sides = {
        f"{kind} {op}": Side(f"benchmarks.cases.calls:{kind}", {"op": op}, threads=1)
        for op in OPS
        for kind in ("recorded", "bare")
    }
    nodes = harness.settings.sized(CHAIN, 10)
    sides["backward"] = Side("benchmarks.cases.calls:Backward", {"nodes": nodes}, threads=1)
    found = harness.take_turns(sides)
    walk, call = found["backward"], found["bare mul"]
    return [
        _added(found),
        Figure(
            "backward per node / the bare call",
            5,
            walk.over(call),
            f"{duration(walk.seconds)} a node of a chain of {nodes} mul against "
            f"{duration(call.seconds)}",
        ),
    ]


def _added(found: dict[str, Measured]) -> Figure:
    ratios = {op: found[f"recorded {op}"].over(found[f"bare {op}"]) for op in OPS}
    parts = [
        f"{op} {duration(found[f'recorded {op}'].seconds)} against "
        f"{duration(found[f'bare {op}'].seconds)}"
        for op in OPS
    ]

    def mean(pick: Callable[[Spread], float]) -> float:
        return prod(max(pick(r) - 1, 1e-3) for r in ratios.values()) ** (1 / len(ratios))

    spread = Spread(mean(lambda r: r.middle), mean(lambda r: r.low), mean(lambda r: r.high))
    name = "recorded op less the bare NumPy call, 8×8 / that call (geometric mean)"
    return Figure(name, 3, spread, "; ".join(parts))
