"""Adam, and AdamW, whose weight decay stays out of the moments."""

from __future__ import annotations

from math import sqrt
from typing import Any

from gradwire_engine.optim.update import State, need, optimizer


def _check(settings: dict[str, Any]) -> None:
    for place, beta in enumerate(settings["betas"]):
        need(0 <= beta < 1, f"beta parameter at index {place}", beta)


def _moments(
    xp: Any, x: Any, g: Any, state: State, lr: float, betas: Any, eps: float, amsgrad: bool
) -> Any:
    """x moved by the mean of gradients over the root of that of their squares, both unbiased."""
    first, second = betas
    step = state["step"] = state.get("step", 0) + 1
    if step == 1:
        state |= {"exp_avg": xp.zeros_like(x), "exp_avg_sq": xp.zeros_like(x)}
        if amsgrad:
            state["max_exp_avg_sq"] = xp.zeros_like(x)
    mean = state["exp_avg"] = state["exp_avg"] + (g - state["exp_avg"]) * (1 - first)
    square = xp.multiply(g, g)
    square *= 1 - second
    square += second * state["exp_avg_sq"]
    state["exp_avg_sq"] = square
    if amsgrad:
        largest = state.get("max_exp_avg_sq", square)  # none, where amsgrad was set later
        square = state["max_exp_avg_sq"] = xp.maximum(largest, square)
    unbiased = sqrt(1 - second**step)
    root = xp.sqrt(square)
    root += eps * unbiased
    moved = xp.divide(mean, root, out=root)
    moved *= -lr * unbiased / (1 - first**step)
    return xp.add(x, moved, out=moved)


@optimizer("adam", "lr", "eps", "weight_decay", check=_check)
def adam(
    xp: Any,
    x: Any,
    g: Any,
    state: State,
    *,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    amsgrad: bool = False,
    maximize: bool = False,
    decoupled_weight_decay: bool = False,
) -> Any:
    """Moments of the gradient (Kingma and Ba 2015; amsgrad: Reddi et al. 2018)."""
    if weight_decay and decoupled_weight_decay:
        x = x * (1 - lr * weight_decay)
    elif weight_decay:
        g = g + weight_decay * x
    return _moments(xp, x, g, state, lr, betas, eps, amsgrad)


@optimizer("adamw", "lr", "eps", "weight_decay", check=_check)
def adamw(
    xp: Any,
    x: Any,
    g: Any,
    state: State,
    *,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
    amsgrad: bool = False,
    maximize: bool = False,
) -> Any:
    """Adam on weights that decay by themselves (Loshchilov and Hutter 2019)."""
    return _moments(xp, x * (1 - lr * weight_decay), g, state, lr, betas, eps, amsgrad)
