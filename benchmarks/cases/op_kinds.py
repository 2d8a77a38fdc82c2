"""Kinds of ops at small and large sizes, forward and backward, against torch's eager ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from statistics import median
from typing import Any

from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness, Measured, Spread
from benchmarks.libraries import FIRST, LIBRARIES
from benchmarks.op_kinds import KINDS, Made, Row
from benchmarks.side import Side, all_cores
from benchmarks.worker import timed

LARGEST, MEAN, PLANNED = 10.0, 2.0, 1.2
SIDES = ("engine", "torch", "planned")


class Kind:
    """All calls of a kind on a library, timed one after the other in each turn."""

    def __init__(self, kind: str, library: str, only_small: bool) -> None:
        rows = list(KINDS[kind].items())[: 1 if only_small else None]
        self._steps = {name: _prepared(row, library) for name, row in rows}

    def measure(self, seconds: float) -> dict[str, Any]:
        """A median of seconds for each call; `seconds` is what each may take."""
        times = {name: median(timed(step, seconds)) for name, step in self._steps.items()}
        return {"times": list(times.values()), "calls": times}


def _prepared(row: Row, library: str) -> Callable[[], Made]:
    return row.planned() if library == "planned" else row.prepare(LIBRARIES[library]())


def figures(harness: Harness) -> Sequence[Figure]:
    """A ratio for each call, slowest first, to compare; then their largest and their mean.

    First op by op, then the same calls as plans.
    """
    eager: list[Figure] = []
    planned: list[Figure] = []
    for kind in KINDS:
        found = _of_kind(harness, kind)
        for call in found["torch"].first["calls"]:
            eager.append(_line(found, "engine", call, call))
            planned.append(_line(found, "planned", call, f"planned {call}"))
    for lines in eager, planned:
        lines.sort(key=_ratio, reverse=True)
    return [
        *eager,
        Figure("ops / torch eager: largest", LARGEST, eager[0].measured, eager[0].name),
        Figure("ops / torch eager: geometric mean", MEAN, *_mean(eager)),
        *planned,
        Figure("planned ops / torch eager: geometric mean", PLANNED, *_mean(planned)),
    ]


def _of_kind(harness: Harness, kind: str) -> dict[str, Measured]:
    settings = harness.settings
    cores = all_cores()[: settings.threads]
    only_small = settings.scale < 1
    return harness.take_turns(
        {
            library: Side(
                "benchmarks.cases.op_kinds:Kind",
                {"kind": kind, "library": library, "only_small": only_small},
                cores,
                settings.threads,
                first=FIRST.get(library, ""),
            )
            for library in SIDES
        }
    )


def _line(found: dict[str, Measured], side: str, call: str, name: str) -> Figure:
    ours, torch = (
        Measured([reply["calls"][call] for reply in found[which].replies], [], {})
        for which in (side, "torch")
    )
    note = f"{duration(ours.seconds)} against {duration(torch.seconds)}"
    return Figure(f"{name} / torch eager", None, ours.over(torch), note)


def _ratio(line: Figure) -> float:
    return line.measured.middle if line.measured is not None else 0.0


def _mean(lines: Sequence[Figure]) -> tuple[Spread, str]:
    """The geometric mean of ratios, quartile by quartile; of what."""
    spreads = [line.measured for line in lines if line.measured is not None]

    def mean(pick: Callable[[Spread], float]) -> float:
        return prod(map(pick, spreads)) ** (1 / len(spreads))

    found = Spread(mean(lambda s: s.middle), mean(lambda s: s.low), mean(lambda s: s.high))
    return found, f"of {len(spreads)} calls, forward and backward, that are listed above"
