"""Fifteen programs by the SDK, embedded: op by op and compiled, against torch eager in process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import prod
from typing import Any

from benchmarks.fifteen import FIFTEEN
from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness, Spread
from benchmarks.side import Side, all_cores

MEAN, LARGEST = 1.2, 2.0
"""Ratios to torch that programs op by op are to reach: the geometric mean, and the largest."""
MEDIAN, ABOVE, WITHOUT = 0.7, 2.0, 0.7
"""The same for compiled programs: the median, the number above 1, the mean of the larger."""
_OF_SMALL_OPS = ("scalar loop", "GELU chain")


def op_by_op(name: str, library: str) -> Callable[[], Any]:
    """The loss and its gradients by the parameters, each op as it is called."""
    torch = import_module(library)
    torch.manual_seed(0)
    function, parameters = FIFTEEN[name](torch)
    leaves = [parameter.detach().requires_grad_() for parameter in parameters]

    def step() -> Any:
        loss = function(*leaves)
        return loss, torch.autograd.grad(loss, leaves)

    return step


def compiled(name: str) -> Callable[[], Any]:
    """The loss and its gradients by one compiled function."""
    torch = import_module("gradwire")
    torch.manual_seed(0)
    function, parameters = FIFTEEN[name](torch)
    argnums = tuple(range(len(parameters)))
    made = torch.compile(torch.func.grad_and_value(function, argnums=argnums))
    return lambda: made(*parameters)


def figures(harness: Harness) -> Sequence[Figure]:
    """A line for each program and way, and what they come to together."""
    found: list[Figure] = []
    ways: dict[str, dict[str, Spread]] = {"op by op": {}, "compiled": {}}
    for name in FIFTEEN:
        sides = {
            "op by op": _side("op_by_op", name=name, library="gradwire"),
            "compiled": _side("compiled", name=name),
            "torch": _side("op_by_op", name=name, library="torch"),
        }
        measured = harness.take_turns(sides)
        for way, ratios in ways.items():
            ours, theirs = measured[way], measured["torch"]
            ratios[name] = ours.over(theirs)
            note = f"{duration(ours.seconds)} against {duration(theirs.seconds)}"
            found.append(Figure(f"{name}, {way} / torch eager", None, ratios[name], note))
    return [*found, *_together(ways["op by op"], ways["compiled"])]


def _side(function: str, **arguments: Any) -> Side:
    return Side(f"benchmarks.cases.fifteen:{function}", arguments, all_cores(), threads=1)


def _together(plain: Mapping[str, Spread], made: Mapping[str, Spread]) -> list[Figure]:
    worst = max(plain, key=lambda name: plain[name].middle)
    ordered = sorted(made, key=lambda name: made[name].middle)
    middle = ordered[len(ordered) // 2]
    slow = [name for name in ordered if made[name].middle > 1]
    larger = {name: ratio for name, ratio in made.items() if name not in _OF_SMALL_OPS}
    return [
        Figure("fifteen programs op by op / torch eager: geometric mean", MEAN, *_mean(plain)),
        Figure("fifteen programs op by op / torch eager: largest", LARGEST, plain[worst], worst),
        Figure("fifteen programs compiled / torch eager: median", MEDIAN, made[middle], middle),
        Figure(
            "fifteen programs compiled: how many above torch eager", ABOVE,
            Spread.of([float(len(slow))]), ", ".join(slow) or "none",
        ),
        Figure(
            "programs compiled but scalar loop and chain / torch eager: geometric mean", WITHOUT,
            *_mean(larger),
        ),
    ]  # fmt: skip


def _mean(ratios: Mapping[str, Spread]) -> tuple[Spread, str]:
    """The geometric mean, quartile by quartile."""

    def mean(pick: Callable[[Spread], float]) -> float:
        return prod(map(pick, ratios.values())) ** (1 / len(ratios))

    found = Spread(mean(lambda s: s.middle), mean(lambda s: s.low), mean(lambda s: s.high))
    return found, f"of {len(ratios)} programs"
