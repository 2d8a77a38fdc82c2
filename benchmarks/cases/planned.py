"""Whole models, forward and backward, as plans: against torch, op by op and compiled, and others.

JAX compiles a step, autograd records it anew each time, and by hand is NumPy with derivatives
worked out on paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp, log
from typing import Any

import numpy as np

from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness, Spread
from benchmarks.libraries import FIRST, LIBRARIES, Engine, Library, Torch
from benchmarks.servers import RIVALS
from benchmarks.side import Side, all_cores
from benchmarks.workloads import WORKLOADS, Step

MEAN, WORST, ABOVE, AHEAD = 0.5, 1.0, 1, 6
"""Of the ratios: what their geometric mean may be, how many may be above the worst; and how many
must not be, against the best of torch and JAX."""
AGAINST = {
    "torch": "torch eager",
    "compiled": "torch compiled",
    "jax": "JAX jit",
    "autograd": "HIPS autograd",
    "by hand": "NumPy by hand",
}
"""What is compared with, as figures call it."""
BEST_OF = ("torch eager", "torch compiled", "JAX jit")


def made(workload: Callable[[Library], Step]) -> tuple[Any, list[np.ndarray[Any, Any]]]:
    """A step of a workload as a plan; everything that it made tensors of is an input: these."""
    from gradwire_engine.plan import plan_of
    from gradwire_engine.spec import Spec, dtype_of

    given: list[tuple[np.ndarray[Any, Any], bool]] = []

    def function(*tensors: Any) -> list[Any]:
        loss, gradients = workload(_On(list(tensors)))()
        return [loss, *gradients]

    workload(_On(given))
    arrays = [array for array, _ in given]
    return plan_of(function, [Spec(a.shape, dtype_of(a.dtype), "cpu") for a in arrays]), arrays


def planned(workload: Callable[[Library], Step]) -> Callable[[], Any]:
    """One step of a workload as a plan."""
    plan, arrays = made(workload)

    def step() -> Any:
        with np.errstate(all="ignore"):
            return plan.run(arrays)

    return step


class _On(Engine):
    """The engine on tensors that are there already; or noting down what it is asked to make."""

    def __init__(self, known: list[Any]) -> None:
        super().__init__()
        self._known, self._place = known, 0
        self._noting = not known

    def tensor(self, array: np.ndarray[Any, Any], requires_grad: bool = False) -> Any:
        if self._noting:
            self._known.append((array, requires_grad))
            return super().tensor(array, requires_grad)
        self._place += 1
        found = self._known[self._place - 1]
        return found.requires_grad_() if requires_grad else found


class _Later(Torch):
    """torch, where gradients are only noted down: what is compiled is the loss."""

    wanted: Sequence[Any] = ()

    def grad(self, output: Any, inputs: Sequence[Any]) -> Sequence[Any]:  # noqa: ARG002
        self.wanted = inputs
        return ()


def compiled(workload: Callable[[Library], Step]) -> Callable[[], Any]:
    """One step of a workload by torch.compile, which compiles the walk back with the loss."""
    import torch

    later = _Later()
    step = workload(later)
    step()
    inputs, loss = later.wanted, torch.compile(lambda: step()[0])
    torch.autograd.grad(loss(), inputs)
    return lambda: torch.autograd.grad(loss(), inputs)


COMPILED = ("mlp", "block", "logreg", "softmax", "chain", "lenet")
"""Workloads that torch.compile takes as one function, in less than a minute."""


def prepare(workload: str, library: str) -> Callable[[], object]:
    """One step of a workload: planned, compiled, or on a library op by op."""
    if library in _WHOLE:
        return _WHOLE[library](WORKLOADS[workload])
    return WORKLOADS[workload](LIBRARIES[library]())


_WHOLE = {"planned": planned, "compiled": compiled}


def sides(harness: Harness, workload: str) -> dict[str, Side]:
    """The planned side and those to compare with that are there."""
    settings = harness.settings
    cores = all_cores()[: settings.threads]
    names = ["planned", "torch"]
    if workload in COMPILED and settings.scale == 1:
        names.append("compiled")
    target, threads = "benchmarks.cases.planned:prepare", settings.threads
    found = {
        name: Side(
            target,
            {"workload": workload, "library": name},
            cores,
            threads,
            first=FIRST.get(name, ""),
        )
        for name in names
    }
    python = RIVALS / "bin" / "python"
    if python.exists():
        target = "benchmarks.peers.differentiated:prepare"
        for name in ("jax", "autograd"):
            given = {"workload": workload, "library": name}
            found[name] = Side(target, given, cores, threads, str(python))
    target = "benchmarks.peers.by_hand:prepare"
    found["by hand"] = Side(target, {"workload": workload}, cores, threads)
    return found


def figures(harness: Harness) -> Sequence[Figure]:
    """A ratio of times for each workload and each that it is compared with, and what they say."""
    found = {workload: _figures(harness, workload) for workload in WORKLOADS}
    eager = [figures["torch eager"] for figures in found.values()]
    ratios = [f.measured for f in eager if f.measured is not None]
    mean = Spread(
        *(_mean([getattr(r, part) for r in ratios]) for part in ("middle", "low", "high"))
    )
    above = [f.name.split()[1] for f in eager if f.measured and f.measured.middle > WORST]
    return [
        *eager,
        *(f for figures in found.values() for f in figures.values() if f not in eager),
        Figure("planned / torch eager, geometric mean of eight", MEAN, mean, "of those above"),
        Figure(
            "planned / torch eager: how many of eight above 1",
            ABOVE,
            Spread.of([float(len(above))]),
            ", ".join(above) or "none",
        ),
        _ahead(found),
    ]


def _ahead(found: Mapping[str, Mapping[str, Figure]]) -> Figure:
    """How often the plan takes no longer than the best of the others."""
    name = f"planned / the best of {', '.join(BEST_OF)}: how many of eight at most 1"
    if not RIVALS.exists():
        note = f"{RIVALS.name} isn't there: `make bench` makes it"
        return Figure(name, AHEAD, None, note, at_least=True)
    worst = {}
    for workload, figures in found.items():
        ratios = [f.measured.middle for n, f in figures.items() if n in BEST_OF and f.measured]
        worst[workload] = max(ratios)
    note = ", ".join(f"{workload} {ratio:.3g}" for workload, ratio in worst.items())
    count = sum(ratio <= WORST for ratio in worst.values())
    return Figure(name, AHEAD, Spread.of([float(count)]), note, at_least=True)


def _mean(ratios: Sequence[float]) -> float:
    return exp(sum(map(log, ratios)) / len(ratios))


def _figures(harness: Harness, workload: str) -> dict[str, Figure]:
    """Ratios of times, by what the plan is compared with."""
    found = harness.take_turns(sides(harness, workload))
    ours, figures = found.pop("planned"), {}
    for side, theirs in found.items():
        note = f"{duration(ours.seconds)} against {duration(theirs.seconds)}"
        name = AGAINST[side]
        figures[name] = Figure(f"planned {workload} / {name}", None, ours.over(theirs), note)
    return figures
