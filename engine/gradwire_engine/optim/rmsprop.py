"""RMSprop."""

from __future__ import annotations

from typing import Any

from gradwire_engine.optim.update import State, optimizer


@optimizer("rmsprop", "lr", "eps", "momentum", "weight_decay", "alpha")
def rmsprop(
    xp: Any,
    x: Any,
    g: Any,
    state: State,
    *,
    lr: float = 1e-2,
    alpha: float = 0.99,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    momentum: float = 0.0,
    centered: bool = False,
    maximize: bool = False,
) -> Any:
    """The gradient over the root of the mean of its squares (Hinton's lecture 6e, 2012)."""
    if weight_decay:
        g = g + weight_decay * x
    step = state["step"] = state.get("step", 0) + 1
    if step == 1:
        state["square_avg"] = xp.zeros_like(x)
        if momentum > 0:
            state["momentum_buffer"] = xp.zeros_like(x)
        if centered:
            state["grad_avg"] = xp.zeros_like(x)
    square = state["square_avg"] = alpha * state["square_avg"] + (1 - alpha) * g * g
    if centered:
        mean = state["grad_avg"] = state["grad_avg"] + (g - state["grad_avg"]) * (1 - alpha)
        square = square - mean * mean
    root = xp.sqrt(square)
    root += eps
    moved = xp.divide(g, root, out=root)
    if momentum > 0:
        moved = state["momentum_buffer"] = momentum * state["momentum_buffer"] + moved
    return x - lr * moved
