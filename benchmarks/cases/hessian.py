"""hess200: the Hessian of the Rosenbrock function in 200 variables, float64, on one core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness
from benchmarks.libraries import LIBRARIES, Library
from benchmarks.side import Side, all_cores

VARIABLES = 200


def rosenbrock(lib: Library) -> Callable[[Any], Any]:
    """Σ 100 (xᵢ₊₁ − xᵢ²)² + (1 − xᵢ)²."""

    def function(x: Any) -> Any:
        count = x.shape[0] - 1
        here, there = lib.ops.narrow(x, 0, 0, count), lib.ops.narrow(x, 0, 1, count)
        bend, slope = there - here * here, 1 - here
        return lib.ops.sum(100 * bend * bend + slope * slope)

    return function


def prepare(library: str, variables: int, vectorize: bool) -> Callable[[], object]:
    """One Hessian."""
    lib = LIBRARIES[library]()
    x = lib.tensor(np.random.default_rng(0).standard_normal(variables))
    function = rosenbrock(lib)
    return lambda: lib.hessian(function, x, vectorize)


def figures(harness: Harness) -> Sequence[Figure]:
    """One batched walk against torch's two ways, and our own loop against torch's."""
    variables = harness.settings.sized(VARIABLES, 5)
    sides = {
        f"{library} {way}": Side(
            "benchmarks.cases.hessian:prepare",
            {"library": library, "variables": variables, "vectorize": way == "vectorised"},
            all_cores()[:1],
        )
        for library in ("engine", "torch")
        for way in ("vectorised", "loop")
    }
    found = harness.take_turns(sides)
    pairs = [
        ("engine vectorised", "torch vectorised"),
        ("engine vectorised", "torch loop"),
        ("engine loop", "torch loop"),
    ]
    return [
        Figure(
            f"hess200: {ours} / {theirs}",
            None,
            found[ours].over(found[theirs]),
            f"{duration(found[ours].seconds)} against {duration(found[theirs].seconds)}",
        )
        for ours, theirs in pairs
    ]
