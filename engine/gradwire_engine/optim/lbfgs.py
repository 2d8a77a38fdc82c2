"""L-BFGS: steps along a direction that remembers the curvature of the last ones.

Nocedal and Wright, Numerical Optimization (2006), algorithm 7.4. All parameters are one flat
vector; the loss is asked for by yielding vectors, so the algorithm knows neither tensors nor who
computes.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from gradwire_engine.optim.update import State, need, optimizer, refused
from gradwire_engine.optim.wolfe import Point, search

Asked = Generator[Any, tuple[float, Any, Any], Any]
"""Yields vectors; is sent the loss and the gradient there, and the vector itself, which the closure
may have changed (clamped, say); gives the vector it ends at."""


def _check(settings: dict[str, Any]) -> None:
    need(settings["history_size"] > 0, "history_size", settings["history_size"])
    if settings["line_search_fn"] not in (None, "strong_wolfe"):
        raise refused(
            f"lbfgs: line_search_fn is {settings['line_search_fn']!r}",
            "only 'strong_wolfe' is supported, or none",
            RuntimeError,
        )


@optimizer("lbfgs", "lr", check=_check, closure=True)
def lbfgs(
    xp: Any,
    x: Any,
    state: State,
    *,
    lr: float = 1.0,
    max_iter: int = 20,
    max_eval: int | None = None,
    tolerance_grad: float = 1e-7,
    tolerance_change: float = 1e-9,
    history_size: int = 100,
    line_search_fn: str | None = None,
) -> Asked:
    """Limited-memory BFGS (Liu and Nocedal 1989); a step evaluates its closure several times."""
    most = max_iter * 5 // 4 if max_eval is None else max_eval
    loss, g, x = yield x
    evaluated = 1
    if float(abs(g).max()) > tolerance_grad:
        for iteration in range(1, max_iter + 1):
            d = _direction(xp, g, state, history_size)
            before, state["prev_flat_grad"] = loss, g
            slope = float(xp.dot(g, d))
            t = min(1.0, 1.0 / float(abs(g).sum())) * lr if state["n_iter"] == 1 else lr
            state["d"], state["t"] = d, t
            if slope > -tolerance_change:
                break
            if line_search_fn is not None:
                start = Point(0.0, loss, g, slope)
                left = most - evaluated
                found, tried = yield from _searched(xp, x, d, start, t, tolerance_change, left)
                state["t"], loss, g = found.t, found.loss, found.gradient
                x = x + found.t * d
            else:
                x, tried = x + t * d, 0
                if iteration != max_iter:
                    loss, g, x = yield x
                    tried = 1
            evaluated += tried
            moved = float(abs(d * state["t"]).max())
            flat = float(abs(g).max()) <= tolerance_grad
            if evaluated >= most or flat or moved <= tolerance_change:
                break
            if abs(loss - before) < tolerance_change:
                break
    state["func_evals"] = state.get("func_evals", 0) + evaluated
    return x


def _direction(xp: Any, g: Any, state: State, history_size: int) -> Any:
    """Minus the gradient times the inverse Hessian, as the last steps let guess it."""
    state["n_iter"] = state.get("n_iter", 0) + 1
    if state["n_iter"] == 1:
        state |= {"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1.0}
        return -g
    y, s = g - state["prev_flat_grad"], state["d"] * state["t"]
    curvature = float(xp.dot(y, s))
    if curvature > 1e-10:
        kept = 1 - history_size if history_size > 1 else len(state["ro"])
        state["old_dirs"] = [*state["old_dirs"][kept:], y]
        state["old_stps"] = [*state["old_stps"][kept:], s]
        state["ro"] = [*state["ro"][kept:], 1.0 / curvature]
        state["H_diag"] = curvature / float(xp.dot(y, y))
    steps = list(zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True))
    q, weights = -g, []
    for y, s, ro in reversed(steps):
        weights.append(float(xp.dot(s, q)) * ro)
        q = q - weights[-1] * y
    r = q * state["H_diag"]
    for (y, s, ro), weight in zip(steps, reversed(weights), strict=True):
        r = r + s * (weight - float(xp.dot(y, r)) * ro)
    return r


def _searched(
    xp: Any, x: Any, d: Any, start: Point, t: float, smallest: float, most: int
) -> Generator[Any, tuple[float, Any, Any], tuple[Point, int]]:
    """The line search along d, each step length asked for as a vector."""
    walk = search(start, t, float(abs(d).max()), smallest, most)
    t = next(walk)
    while True:
        loss, g, _ = yield x + t * d
        try:
            t = walk.send(Point(t, loss, g, float(xp.dot(g, d))))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
