"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from gradwire_engine.optim.update import State, optimizer, refused


def _check(settings: dict[str, Any]) -> None:
    if settings["nesterov"] and (settings["momentum"] <= 0 or settings["dampening"] != 0):
        raise refused(
            "Nesterov momentum requires a momentum and zero dampening",
            "set momentum above 0 and dampening to 0",
        )


@optimizer("sgd", "lr", "momentum", "weight_decay", check=_check)
def sgd(
    xp: Any,
    x: Any,
    g: Any,
    state: State,
    *,
    lr: float = 1e-3,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
) -> Any:
    """Down the gradient, with momentum: b = μ b + (1 - τ) g; x = x - γ b (Sutskever 2013)."""
    if weight_decay:
        g = g + weight_decay * x
    if momentum:
        old = state.get("momentum_buffer")
        buffer = g.copy() if old is None else momentum * old + (1 - dampening) * g
        state["momentum_buffer"] = buffer
        g = g + momentum * buffer if nesterov else buffer
    step = xp.multiply(g, -lr)
    return xp.add(x, step, out=step)
