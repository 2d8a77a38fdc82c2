"""A thousand rows of cotangents: one batched walk against a walk for each, and against torch's.

Small: two dense tanh layers, from 32 numbers by way of 64 to 10, and any cotangents. What a walk
costs beside the arithmetic is what counts there. Whole: from 64 by way of 256 to 1000, and all
rows of the Jacobian; there arithmetic counts as well, and is there to compare. All on one core: a
pool of threads has little to gain on rows like these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness, Measured
from benchmarks.libraries import LIBRARIES
from benchmarks.side import Side, all_cores

ROWS = 1000
WIDTHS = {"small": (32, 64, 10), "whole": (64, 256, ROWS)}
OF_LOOP, OF_TORCH = 0.05, 1.5
WAYS = {"batched": ("engine", True), "loop": ("engine", False), "torch": ("torch", True)}


def prepare(library: str, function: str, rows: int, batched: bool) -> Callable[[], object]:
    """All rows on a library, in one walk or in a loop."""
    lib, random = LIBRARIES[library](), np.random.default_rng(0)
    first, second, third = WIDTHS[function]
    shapes = ((first,), (first, second), (second, third), (rows, third))
    x, inner, outer, cotangents = (random.standard_normal(s).astype(np.float32) / 8 for s in shapes)
    start = lib.tensor(x, requires_grad=True)
    middle = lib.ops.tanh(lib.ops.matmul(start, lib.tensor(inner)))
    end = lib.ops.tanh(lib.ops.matmul(middle, lib.tensor(outer)))
    if batched:
        every = lib.tensor(cotangents)
        return lambda: lib.rows(end, [start], every)
    each = [lib.tensor(row) for row in cotangents]
    return lambda: [lib.row(end, [start], row) for row in each]


def figures(harness: Harness) -> Sequence[Figure]:
    """Two ratios of times for each function."""
    small, whole = (_measured(harness, name) for name in WIDTHS)
    return [
        _figure("a loop of walks", OF_LOOP, small, "loop"),
        _figure("torch's is_grads_batched", OF_TORCH, small, "torch"),
        _figure("a loop of walks, of a Jacobian of 1000 outputs", None, whole, "loop"),
        _figure("torch's is_grads_batched, of it too", None, whole, "torch"),
    ]


def _measured(harness: Harness, function: str) -> dict[str, Measured]:
    common = {"function": function, "rows": harness.settings.sized(ROWS, 10)}
    sides = {
        way: Side(
            "benchmarks.cases.rows:prepare",
            common | {"library": library, "batched": batched},
            all_cores()[:1],
        )
        for way, (library, batched) in WAYS.items()
    }
    return harness.take_turns(sides)


def _figure(name: str, limit: float | None, found: dict[str, Measured], other: str) -> Figure:
    ours, theirs = found["batched"], found[other]
    note = f"{duration(ours.seconds)} against {duration(theirs.seconds)}"
    return Figure(f"is_grads_batched of 1000 rows / {name}", limit, ours.over(theirs), note)
