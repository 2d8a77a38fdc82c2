"""Peak memory of 64 dense tanh layers on 256×1024, checkpointed in segments of eight.

Each layer has weights of its own, which are constants: what is measured is what the graph keeps
and a walk adds to it, the gradient being by the input. It is the largest resident set of a process
that does this once, less that before it, when weights and input are there and BLAS has run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.figures import Figure
from benchmarks.harness import Harness, Spread
from benchmarks.resident import peak_from_here, status
from benchmarks.side import Side, Worker

LAYERS, SEGMENT, ROWS, WIDTH = 64, 8, 256, 1024
LIMIT = 0.25
TURNS = 5


class Step:
    """One forward and backward in this process."""

    def __init__(self, rows: int, width: int, checkpointed: bool) -> None:
        from benchmarks.libraries import Engine

        self._engine, self._checkpointed = Engine(), checkpointed
        random = np.random.default_rng(0)
        tensor = self._engine.tensor
        shapes = [(width, width)] * LAYERS
        self._weights = [
            tensor((random.standard_normal(s) / width**0.5).astype(np.float32)) for s in shapes
        ]
        self._x = tensor(random.standard_normal((rows, width)).astype(np.float32), True)
        self._engine.grad(self._engine.ops.sum(self._run(self._x, self._weights[0])[0]), [self._x])

    def _run(self, x: Any, *weights: Any) -> tuple[Any]:
        for weight in weights:
            x = self._engine.ops.tanh(self._engine.ops.matmul(x, weight))
        return (x,)

    def measure(self, seconds: float) -> dict[str, Any]:  # noqa: ARG002 - the first time counts
        """Bytes at the peak, over those before; in a process that did nothing else."""
        from gradwire_engine.checkpoint import checkpoint

        before, x = peak_from_here(), self._x
        for at in range(0, LAYERS, SEGMENT):
            segment = self._weights[at : at + SEGMENT]
            if self._checkpointed:
                (x,) = checkpoint(self._run, (x, *segment))
            else:
                (x,) = self._run(x, *segment)
        total = self._engine.ops.sum(x)
        del x
        self._engine.grad(total, [self._x])
        return {"bytes": status("VmHWM") - before}


def figures(harness: Harness) -> Sequence[Figure]:
    """A ratio of peaks."""
    rows, width = ROWS, harness.settings.sized(WIDTH, 256)
    arguments = {"rows": rows, "width": width}
    plain, packed = (
        [_once(harness, arguments | {"checkpointed": way}) for _ in range(TURNS)]
        for way in (False, True)
    )
    ratio = Spread.of([a / b for a, b in zip(packed, plain, strict=True)])
    note = f"{packed[0] / 2**20:.1f} MiB against {plain[0] / 2**20:.1f} MiB"
    name = "peak memory of 64 dense layers: checkpointed in segments of eight / plain"
    return [Figure(name, LIMIT, ratio, note)]


def _once(harness: Harness, arguments: dict[str, Any]) -> float:
    harness.tick(f"checkpointed: {arguments['checkpointed']}")
    with Worker(Side("benchmarks.cases.checkpoints:Step", arguments)) as worker:
        return float(worker.measure(0.0)["bytes"])
