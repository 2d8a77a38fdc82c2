"""Long recurrences, forward and backward: scan against a Python loop over torch's ops.

lstm: 10,000 steps of an LSTM cell, a batch of 32, 64 in, 64 hidden; the loss is of every step's
output. rk4: 5,000 Runge-Kutta steps of 256 states of 32 numbers, whose field has one hidden layer
of 64; the loss is of the last state. Memory: what NumPy holds at most in an LSTM with checkpoints
by the last state, four times as many steps against so many.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness, Measured, Spread
from benchmarks.libraries import LIBRARIES, Library
from benchmarks.side import Side, Worker
from benchmarks.workloads import Source

LENGTHS = {"lstm": 10_000, "rk4": 5_000}
OF_TORCH, OF_A_QUARTER = 0.5, 2.2
STEP = 1e-3
Body = Callable[..., tuple[Any, ...]]


class Program(NamedTuple):
    """A function with an id, as the engine's bodies are."""

    body: Body
    id: str = "p_benchmark"

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        return self.body(*values)


class Recurrence(NamedTuple):
    """A body with all that it takes; collects: whether the loss is of what it collects."""

    body: Body
    carries: Sequence[Any]
    rows: Sequence[Any]
    parameters: Sequence[Any]
    collects: bool


def lstm(lib: Library, length: int, dtype: str = "float32", collects: bool = True) -> Recurrence:
    """An LSTM cell."""
    source, ops, size = Source(dtype), lib.ops, 64

    def cell(h: Any, c: Any, x: Any, wx: Any, wh: Any, b: Any) -> tuple[Any, ...]:
        gates = ops.matmul(x, wx) + ops.matmul(h, wh) + b
        i, f, g, o = ops.chunk(gates, 4, 1)
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
        h = ops.sigmoid(o) * ops.tanh(c)
        return (h, c, h) if collects else (h, c)

    state = [lib.tensor(source.normal(32, size, scale=0.0)) for _ in range(2)]
    rows = lib.tensor(source.normal(length, 32, size, scale=0.5))
    shapes = ((size, 4 * size), (size, 4 * size), (4 * size,))
    weights = [lib.tensor(source.normal(*s, scale=0.125), requires_grad=True) for s in shapes]
    return Recurrence(cell, state, [rows], weights, collects)


def rk4(lib: Library, _length: int, dtype: str = "float32") -> Recurrence:
    """Runge-Kutta's classic step."""
    source, ops = Source(dtype), lib.ops

    def step(y: Any, w1: Any, b1: Any, w2: Any) -> tuple[Any, ...]:
        def field(y: Any) -> Any:
            return ops.matmul(ops.tanh(ops.matmul(y, w1) + b1), w2)

        k1 = field(y)
        k2 = field(y + k1 * (STEP / 2))
        k3 = field(y + k2 * (STEP / 2))
        k4 = field(y + k3 * STEP)
        return (y + (k1 + k2 * 2 + k3 * 2 + k4) * (STEP / 6),)

    shapes = ((32, 64), (64,), (64, 32))
    weights = [lib.tensor(source.normal(*s, scale=0.2), requires_grad=True) for s in shapes]
    return Recurrence(step, [lib.tensor(source.normal(256, 32))], [], weights, False)


RECURRENCES: dict[str, Callable[..., Recurrence]] = {"lstm": lstm, "rk4": rk4}


def prepare(
    library: str, name: str, length: int, checkpoint: bool = False, dtype: str = "float32"
) -> Callable[[], tuple[Any, Sequence[Any]]]:
    """A call that gives the loss and the gradients by all parameters."""
    lib = LIBRARIES[library]()
    made = RECURRENCES[name](lib, length, dtype)

    def run() -> tuple[Any, Sequence[Any]]:
        found = (
            _looped(lib, made, length) if library == "torch" else _scanned(made, length, checkpoint)
        )
        loss = lib.ops.sum(found * found)
        return loss, lib.grad(loss, made.parameters)

    return run


def _looped(lib: Library, made: Recurrence, length: int) -> Any:
    carries = list(made.carries)
    collected: list[Any] = []
    for index in range(length):
        found = made.body(*carries, *[rows[index] for rows in made.rows], *made.parameters)
        carries = list(found[: len(carries)])
        collected += found[len(carries) :]
    return lib.ops.stack(collected) if made.collects else carries[0]


def _scanned(made: Recurrence, length: int, checkpoint: bool) -> Any:
    from gradwire_engine.control import scan

    last, collected = scan(
        Program(made.body),
        made.carries,
        made.rows,
        made.parameters,
        length=length,
        checkpoint=checkpoint,
    )
    return collected[0] if made.collects else last[0]


class Peak:
    """What NumPy holds at most in one LSTM by its last state, beyond what it is given."""

    def __init__(self, length: int) -> None:
        self._lib = LIBRARIES["engine"]()
        self._made = lstm(self._lib, length, collects=False)
        self._length = length

    def measure(self, seconds: float) -> dict[str, Any]:  # noqa: ARG002 - once is enough
        """Bytes; a first run has made the plans."""
        self._run()
        tracemalloc.start()
        self._run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return {"bytes": peak}

    def _run(self) -> None:
        last = _scanned(self._made, self._length, checkpoint=True)
        self._lib.grad(self._lib.ops.sum(last), self._made.parameters)


def figures(harness: Harness) -> Sequence[Figure]:
    """Ratios of times for both, and how memory grows."""
    found = []
    for name, length in LENGTHS.items():
        measured = _measured(harness, name, harness.settings.sized(length, 10))
        found.append(_figure(name, "scan", OF_TORCH, measured))
        found.append(_figure(name, "scan with checkpoints", None, measured))
    length = harness.settings.sized(LENGTHS["lstm"] // 4, 64)
    short, long = (_peak(harness, count) for count in (length, 4 * length))
    note = f"{long / 2**20:.2f} MiB against {short / 2**20:.2f} MiB"
    title = "peak memory of an LSTM with checkpoints: four times the steps / once"
    return [*found, Figure(title, OF_A_QUARTER, Spread.of([long / short]), note)]


def _measured(harness: Harness, name: str, length: int) -> dict[str, Measured]:
    common: dict[str, Any] = {"name": name, "length": length}
    ways: dict[str, dict[str, Any]] = {
        "scan": {"library": "engine"},
        "scan with checkpoints": {"library": "engine", "checkpoint": True},
        "torch": {"library": "torch"},
    }
    sides = {k: Side("benchmarks.cases.loops:prepare", common | way) for k, way in ways.items()}
    return harness.take_turns(sides)


def _figure(name: str, way: str, limit: float | None, found: dict[str, Measured]) -> Figure:
    ours, theirs = found[way], found["torch"]
    note = f"{duration(ours.seconds)} against {duration(theirs.seconds)}"
    title = f"{name}, {LENGTHS[name]} steps: {way} / a loop over torch"
    return Figure(title, limit, ours.over(theirs), note)


def _peak(harness: Harness, length: int) -> float:
    harness.tick(f"memory of {length} steps")
    with Worker(Side("benchmarks.cases.loops:Peak", {"length": length})) as worker:
        return float(worker.measure(0.0)["bytes"])
