"""Steps about where tensors stand in the graph: flags, gradients taken and set, names dropped."""

from __future__ import annotations

from typing import Any

from tests.parity.differential.kinds.registry import kind
from tests.parity.differential.step import Ref, Step
from tests.parity.differential.world import World, floating, method


@kind("requires_grad_", 3.5)
def requires_grad_(w: World) -> Step | None:
    x = w.any(lambda t: t.is_leaf) if w.chance(0.8) else w.any()
    if x is None:
        return None
    flag = w.chance(0.75)
    if w.chance(0.3):
        return Step("requires_grad_", "assign", "requires_grad", (x, flag))
    return method("requires_grad_", "requires_grad_", x, *(() if flag else (False,)))


@kind("retain_grad", 3)
def retain_grad(w: World) -> Step | None:
    x = w.any(lambda t: not t.is_leaf) if w.chance(0.8) else w.any()
    return None if x is None else method("retain_grad", "retain_grad", x)


def _has_grad(x: Any) -> bool:
    return (x.is_leaf or x.retains_grad) and x.grad is not None


@kind("gradient taken", 2.5)
def gradient_taken(w: World) -> Step | None:
    x = w.any(_has_grad)
    if x is None or not _has_grad(w.get(x)):
        return None
    return Step("gradient taken", "attribute", "grad", (x,), (), (w.name(),))


@kind("zeroing", 2.5)
def zeroing(w: World) -> Step | None:
    x: Ref | None = w.any(_has_grad)
    if x is None:
        return None
    return Step("zeroing", "assign", "grad", (x, None))


@kind("gradient set", 1.5)
def gradient_set(w: World) -> Step | None:
    x = w.any(lambda t: t.is_leaf and floating(t))
    if x is None:
        return None
    value = w.same(x)
    return None if value is None else Step("gradient set", "assign", "grad", (x, value))


@kind("name dropped", 3)
def dropped(w: World) -> Step | None:
    if len(w.variables) < 8:
        return None
    x = w.any()
    return None if x is None else Step("name dropped", "delete", "", (x,))
