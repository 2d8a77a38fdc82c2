"""Whole models, forward and backward, as plans: against torch op by op, and compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log
from typing import Any

import numpy as np

from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness, Spread
from benchmarks.libraries import LIBRARIES, Engine, Library, Torch
from benchmarks.side import Side, all_cores
from benchmarks.workloads import WORKLOADS, Step

MEAN, WORST, ABOVE = 0.5, 1.0, 1
"""Of the ratios: what their geometric mean may be, and how many may be above the worst."""


def planned(workload: Callable[[Library], Step]) -> Callable[[], Any]:
    """One step of a workload as a plan: everything that it made tensors of is an input."""
    from gradwire_engine.plan import plan_of
    from gradwire_engine.spec import Spec, dtype_of

    given: list[tuple[np.ndarray[Any, Any], bool]] = []

    def function(*tensors: Any) -> list[Any]:
        loss, gradients = workload(_On(list(tensors)))()
        return [loss, *gradients]

    workload(_On(given))
    arrays = [array for array, _ in given]
    plan = plan_of(function, [Spec(a.shape, dtype_of(a.dtype), "cpu") for a in arrays])

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


def figures(harness: Harness) -> Sequence[Figure]:
    """A ratio of times for each workload, their geometric mean, and how many are above 1."""
    found, beside = [], []
    for workload in WORKLOADS:
        eager, *others = _figures(harness, workload)
        found.append(eager)
        beside += others
    ratios = [f.measured for f in found if f.measured is not None]
    mean = Spread(
        *(_mean([getattr(r, part) for r in ratios]) for part in ("middle", "low", "high"))
    )
    above = [f.name.split()[1] for f in found if f.measured and f.measured.middle > WORST]
    return [
        *found,
        *beside,
        Figure("planned / torch eager, geometric mean of eight", MEAN, mean, "of those above"),
        Figure(
            "planned / torch eager: how many of eight above 1",
            ABOVE,
            Spread.of([float(len(above))]),
            ", ".join(above) or "none",
        ),
    ]


def _mean(ratios: Sequence[float]) -> float:
    return exp(sum(map(log, ratios)) / len(ratios))


def _figures(harness: Harness, workload: str) -> list[Figure]:
    """Against torch eager; and compiled, where that takes no longer than all the rest."""
    settings = harness.settings
    sides = ["planned", "torch"]
    if workload in COMPILED and settings.scale == 1:
        sides.append("compiled")
    cores = all_cores()[: settings.threads]
    target = "benchmarks.cases.planned:prepare"
    found = harness.take_turns(
        {
            side: Side(target, {"workload": workload, "library": side}, cores, settings.threads)
            for side in sides
        }
    )
    ours, figures = found["planned"], []
    for side in sides[1:]:
        note = f"{duration(ours.seconds)} against {duration(found[side].seconds)}"
        name = f"planned {workload} / torch {'eager' if side == 'torch' else side}"
        figures.append(Figure(name, None, ours.over(found[side]), note))
    return figures
