"""Peak memory of whole models, forward and backward: as plans, op by op in torch, as forecast.

Of a process that does only this, less that of one that only imports, llvmlite too: the largest
resident set. What
a plan says beforehand is held against what Python and NumPy allocate while it runs for the first
time, inputs not counted.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from functools import partial
from importlib import import_module

from benchmarks.cases.planned import made, prepare
from benchmarks.figures import Figure
from benchmarks.harness import Harness, Spread
from benchmarks.resident import peak_from_here, status
from benchmarks.side import Side, Worker, all_cores
from benchmarks.workloads import WORKLOADS

MEASURED = ("mlp", "block", "chain")
LIMIT, NEAR = 1.0, 1.1
STEPS, TURNS = 5, 2
IMPORTS = {
    "torch": ("torch",),  # without the engine, which sets how a process keeps freed memory
    "planned": ("torch", "gradwire_engine.plan", "llvmlite.binding"),
}
"""Of each side, which don't count."""


class Resident:
    """Steps of a workload in a process that has imported what they need, and done nothing."""

    def __init__(self, workload: str, library: str) -> None:
        for name in IMPORTS[library]:
            import_module(name)
        self._before = peak_from_here()
        self._step = prepare(workload, library)

    def measure(self, seconds: float) -> dict[str, float]:  # noqa: ARG002 - so many steps
        """Bytes at the peak, over those that imports took."""
        for _ in range(STEPS):
            self._step()
        return {"bytes": status("VmHWM") - self._before}


class Forecast:
    """The first run of a plan, in whose process nothing ran."""

    def __init__(self, workload: str) -> None:
        from gradwire_engine.kernels.row_blocks import share_out

        share_out([partial(len, ()), partial(len, ())])  # threads have their own memory
        self._plan, self._arrays = made(WORKLOADS[workload])

    def measure(self, seconds: float) -> dict[str, float]:  # noqa: ARG002 - the first run counts
        """Bytes that were allocated at the peak, and those that the plan said."""
        tracemalloc.start()
        try:
            self._plan.run(self._arrays)
            return {"bytes": tracemalloc.get_traced_memory()[1], "said": self._plan.nbytes}
        finally:
            tracemalloc.stop()


def once(case: str, threads: int, **arguments: str) -> dict[str, float]:
    """What one of the above measures, in a fresh process."""
    cores = all_cores()[:threads]
    with Worker(Side(f"benchmarks.cases.memory:{case}", arguments, cores, threads)) as worker:
        return worker.measure(0.0)


def figures(harness: Harness) -> Sequence[Figure]:
    """Ratios of peaks, and of forecasts and what came of them."""
    resident = [_against_torch(harness, workload) for workload in MEASURED]
    return [*resident, *(_as_forecast(harness, workload) for workload in MEASURED)]


def _against_torch(harness: Harness, workload: str) -> Figure:
    peaks: dict[str, list[float]] = {"planned": [], "torch": []}
    for _ in range(TURNS):
        for library, found in peaks.items():
            harness.tick(f"{workload}, {library}")
            said = once("Resident", harness.settings.threads, workload=workload, library=library)
            found.append(said["bytes"])
    ours, theirs = peaks["planned"], peaks["torch"]
    ratio = Spread.of([a / b for a, b in zip(ours, theirs, strict=True)])
    note = f"{ours[0] / 2**20:.1f} MiB against {theirs[0] / 2**20:.1f} MiB"
    return Figure(f"peak memory of planned {workload} / torch eager", LIMIT, ratio, note)


def _as_forecast(harness: Harness, workload: str) -> Figure:
    harness.tick(f"{workload}, as forecast")
    found = once("Forecast", harness.settings.threads, workload=workload)
    peak, said = found["bytes"], found["said"]
    note = f"{peak / 2**20:.2f} MiB allocated, {said / 2**20:.2f} MiB said"
    apart = Spread.of([max(peak / said, said / peak)])
    name = f"peak of planned {workload} / its forecast, the larger by the smaller"
    return Figure(name, NEAR, apart, note)
