"""Adagrad."""

from __future__ import annotations

from typing import Any

from gradwire_engine.optim.update import State, optimizer


@optimizer("adagrad", "lr", "lr_decay", "eps", "weight_decay", "initial_accumulator_value")
def adagrad(
    xp: Any,
    x: Any,
    g: Any,
    state: State,
    *,
    lr: float = 1e-2,
    lr_decay: float = 0.0,
    weight_decay: float = 0.0,
    initial_accumulator_value: float = 0.0,
    eps: float = 1e-10,
    maximize: bool = False,
) -> Any:
    """The gradient over the root of the sum of its squares so far (Duchi et al. 2011)."""
    if weight_decay:
        g = g + weight_decay * x
    step = state["step"] = state.get("step", 0) + 1
    if step == 1:
        state["sum"] = xp.full_like(x, initial_accumulator_value)
    total = state["sum"] = state["sum"] + g * g
    root = xp.sqrt(total)
    root += eps
    moved = xp.divide(g, root, out=root)
    moved *= -lr / (1 + (step - 1) * lr_decay)
    return xp.add(x, moved, out=moved)
