"""Whole models, forward and backward: the engine op by op against torch op by op."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness
from benchmarks.libraries import FIRST, LIBRARIES
from benchmarks.side import Side, all_cores
from benchmarks.workloads import WORKLOADS

LIMITS = {"mlp": 1.2, "block": 1.2, "logreg": 1.2, "softmax": 2.0}


def prepare(workload: str, library: str) -> Callable[[], object]:
    """One step of a workload on a library."""
    return WORKLOADS[workload](LIBRARIES[library]())


def figures(harness: Harness) -> Sequence[Figure]:
    """A ratio of times for each workload."""
    return [_figure(harness, workload) for workload in LIMITS]


def _figure(harness: Harness, workload: str) -> Figure:
    threads = harness.settings.threads
    cores = all_cores()[:threads]  # the engine has a thread for each core it may use
    target = "benchmarks.cases.eager:prepare"
    sides = {
        library: Side(
            target,
            {"workload": workload, "library": library},
            cores,
            threads,
            first=FIRST.get(library, ""),
        )
        for library in ("engine", "torch")
    }
    found = harness.take_turns(sides)
    engine, torch = found["engine"], found["torch"]
    note = f"{duration(engine.seconds)} against {duration(torch.seconds)}"
    return Figure(f"eager {workload} / torch eager", LIMITS[workload], engine.over(torch), note)
