"""Twenty common ops on small arrays, summed and walked back: the engine against torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from statistics import median
from typing import Any

import numpy as np

from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness, Measured, Spread
from benchmarks.libraries import LIBRARIES
from benchmarks.side import Side
from benchmarks.worker import timed

SIZE = 8
LARGEST = 1.4

OPS: dict[str, Callable[..., Any]] = {
    "add": lambda t, x, y, _: t.add(x, y),
    "mul": lambda t, x, y, _: t.mul(x, y),
    "div": lambda t, x, y, _: t.div(x, y),
    "pow": lambda t, x, *_: t.pow(x, 2.0),
    "sin": lambda t, x, *_: t.sin(x),
    "exp": lambda t, x, *_: t.exp(x),
    "tanh": lambda t, x, *_: t.tanh(x),
    "relu": lambda t, x, *_: t.nn.functional.relu(x),
    "gelu": lambda t, x, *_: t.nn.functional.gelu(x),
    "matmul": lambda t, x, y, _: t.matmul(x, y),
    "mean": lambda t, x, *_: t.mean(x, dim=1),
    "softmax": lambda t, x, *_: t.softmax(x, dim=1),
    "layer_norm": lambda t, x, *_: t.nn.functional.layer_norm(x, (SIZE,)),
    "mse_loss": lambda t, x, y, _: t.nn.functional.mse_loss(x, y),
    "cross_entropy": lambda t, x, _, k: t.nn.functional.cross_entropy(x, k),
    "linear": lambda t, x, y, _: t.nn.functional.linear(x, y),
    "reshape": lambda t, x, *_: t.reshape(x, (SIZE // 2, SIZE * 2)),
    "transpose": lambda t, x, *_: t.transpose(x, 0, 1),
    "cat": lambda t, x, y, _: t.cat([x, y], dim=1),
    "stack": lambda t, x, y, _: t.stack([x, y], dim=0),
}
"""Each of the library's functions, two matrices that require grad, and a row of classes."""


class Ops:
    """All ops on a library, timed one after the other in each turn."""

    def __init__(self, library: str) -> None:
        lib = LIBRARIES[library]()
        random = np.random.default_rng(0)
        x, y = (
            lib.tensor(random.uniform(0.5, 1.5, (SIZE, SIZE)).astype(np.float32), True)
            for _ in range(2)
        )
        classes = lib.tensor(np.arange(SIZE) % 3)
        self._steps = {
            name: _step(lib, call, [x, y, classes], name in _OF_ONE) for name, call in OPS.items()
        }

    def measure(self, seconds: float) -> dict[str, Any]:
        """A median of seconds for each op; `seconds` is what each may take."""
        times = {name: median(timed(step, seconds)) for name, step in self._steps.items()}
        return {"times": list(times.values()), "calls": times}


_OF_ONE = (
    "pow", "sin", "exp", "tanh", "relu", "gelu", "mean", "softmax", "layer_norm", "cross_entropy",
    "reshape", "transpose",
)  # fmt: skip
"""Ops that don't depend on the second matrix, to which therefore no gradient is asked for."""


def _step(lib: Any, call: Callable[..., Any], given: list[Any], of_one: bool) -> Callable[[], Any]:
    inputs = given[:1] if of_one else given[:2]
    return lambda: lib.grad(lib.ops.sum(call(lib.ops, *given)), inputs)


def figures(harness: Harness) -> Sequence[Figure]:
    """A ratio for each op, slowest first, to compare; then the largest and the mean."""
    sides = {
        library: Side("benchmarks.cases.engine:Ops", {"library": library}, threads=1)
        for library in ("engine", "torch")
    }
    found = harness.take_turns(sides)
    ratios = {name: _ratio(found, name) for name in OPS}
    order = sorted(OPS, key=lambda name: ratios[name][0].middle, reverse=True)
    lines = [Figure(f"{name} 8×8, sum, backward / torch", None, *ratios[name]) for name in order]
    return [
        *lines,
        Figure("small ops with sum and backward / torch: largest", LARGEST, *_named(lines[0])),
        Figure("small ops with sum and backward / torch: geometric mean", 1.0, *_mean(ratios)),
    ]


def _ratio(found: dict[str, Measured], name: str) -> tuple[Spread, str]:
    ours, torch = (
        Measured([reply["calls"][name] for reply in found[side].replies], [], {})
        for side in ("engine", "torch")
    )
    return ours.over(torch), f"{duration(ours.seconds)} against {duration(torch.seconds)}"


def _named(line: Figure) -> tuple[Spread | None, str]:
    return line.measured, line.name


def _mean(ratios: dict[str, tuple[Spread, str]]) -> tuple[Spread, str]:
    """The geometric mean of the ratios, quartile by quartile."""
    spreads = [spread for spread, _ in ratios.values()]

    def mean(pick: Callable[[Spread], float]) -> float:
        return prod(map(pick, spreads)) ** (1 / len(spreads))

    found = Spread(mean(lambda s: s.middle), mean(lambda s: s.low), mean(lambda s: s.high))
    return found, f"of {len(spreads)} ops on {SIZE}×{SIZE}, one thread"
