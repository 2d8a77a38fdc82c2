"""Kinds of ops at small and large sizes, forward and backward, against torch's eager ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from statistics import median
from typing import Any

from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness, Measured, Spread
from benchmarks.libraries import LIBRARIES
from benchmarks.op_kinds import KINDS
from benchmarks.side import Side, all_cores
from benchmarks.worker import timed

LARGEST, MEAN = 10.0, 2.0


class Kind:
    """All calls of a kind on a library, timed one after the other in each turn."""

    def __init__(self, kind: str, library: str, only_small: bool) -> None:
        lib = LIBRARIES[library]()
        rows = list(KINDS[kind].items())[: 1 if only_small else None]
        self._steps = {name: row.prepare(lib) for name, row in rows}

    def measure(self, seconds: float) -> dict[str, Any]:
        """A median of seconds for each call; `seconds` is what each may take."""
        times = {name: median(timed(step, seconds)) for name, step in self._steps.items()}
        return {"times": list(times.values()), "calls": times}


def figures(harness: Harness) -> Sequence[Figure]:
    """A ratio for each call, slowest first, to compare; then their largest and their mean."""
    lines: list[Figure] = []
    for kind in KINDS:
        lines += _of_kind(harness, kind)
    lines.sort(key=_ratio, reverse=True)
    spreads = [line.measured for line in lines if line.measured is not None]
    names = f"of {len(spreads)} calls, forward and backward, that are listed above"
    return [
        *lines,
        Figure("ops / torch eager: largest", LARGEST, lines[0].measured, lines[0].name),
        Figure("ops / torch eager: geometric mean", MEAN, _mean(spreads), names),
    ]


def _of_kind(harness: Harness, kind: str) -> list[Figure]:
    settings = harness.settings
    cores = all_cores()[: settings.threads]
    sides = {
        library: Side(
            "benchmarks.cases.op_kinds:Kind",
            {"kind": kind, "library": library, "only_small": settings.scale < 1},
            cores,
            settings.threads,
        )
        for library in ("engine", "torch")
    }
    found = harness.take_turns(sides)
    return [_line(found, call) for call in found["torch"].first["calls"]]


def _line(found: dict[str, Measured], call: str) -> Figure:
    engine, torch = (
        Measured([reply["calls"][call] for reply in found[side].replies], [], {})
        for side in ("engine", "torch")
    )
    note = f"{duration(engine.seconds)} against {duration(torch.seconds)}"
    return Figure(f"{call} / torch eager", None, engine.over(torch), note)


def _ratio(line: Figure) -> float:
    return line.measured.middle if line.measured is not None else 0.0


def _mean(spreads: Sequence[Spread]) -> Spread:
    """The geometric mean of ratios, quartile by quartile."""

    def mean(pick: Callable[[Spread], float]) -> float:
        return prod(map(pick, spreads)) ** (1 / len(spreads))

    return Spread(mean(lambda s: s.middle), mean(lambda s: s.low), mean(lambda s: s.high))
