"""Random functions of tensors, written down as steps, which torch and the engine both run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from gradwire_engine.catalogue import resolve

Call = Callable[..., Any]

SMOOTH = ("sin", "cos", "tanh", "sigmoid", "erf", "atan", "asinh", "expm1", "nn.functional.gelu")
PAIRED = ("add", "sub", "mul", "logaddexp")
ALONG = ("cumsum", "cumprod", "nn.functional.softmax", "nn.functional.log_softmax")
FOLDS = ("sum", "mean", "logsumexp", "prod", "amax")
SHAPES = ((2, 3), (3,), (3, 2))
"""Of the arguments of every function."""


class Step(NamedTuple):
    """An op on values made before, counted from the arguments."""

    name: str
    operands: tuple[int, ...]
    rest: tuple[Any, ...] = ()


def on_torch(name: str, *args: Any) -> Any:
    """Call a torch function by the name it has in the catalogue."""
    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part)
    return found(*args)


def on_engine(name: str, *args: Any) -> Any:
    """Call an op of the engine."""
    return resolve(name)(*args)


def drawn(seed: int, count: int = 8) -> list[Step]:
    """Some steps; each is tried by shapes alone and kept if it fits."""
    rng = np.random.default_rng(seed)
    shapes = [torch.empty(shape, dtype=torch.float64, device="meta") for shape in SHAPES]
    steps: list[Step] = []
    while len(steps) < count:
        step = _step(rng, shapes)
        try:
            made = on_torch(step.name, *[shapes[i] for i in step.operands], *step.rest)
        except (RuntimeError, IndexError):
            continue
        if 0 < made.numel() <= 12:
            shapes.append(made)
            steps.append(step)
    return steps


def _step(rng: np.random.Generator, shapes: Sequence[torch.Tensor]) -> Step:
    a, b = (int(i) for i in rng.integers(0, len(shapes), 2))
    kind = rng.integers(0, 7)
    if kind <= 1:
        return Step(str(rng.choice(SMOOTH)), (a,))
    if kind == 2:
        return Step(str(rng.choice(PAIRED)), (a, b))
    if kind == 3:
        return Step(str(rng.choice(ALONG)), (a,), (-1,))
    if kind == 4:
        return Step(str(rng.choice(FOLDS)), (a,), (0,))
    if kind == 5:
        return Step("matmul", (a, b))
    return Step("transpose", (a,), (0, 1))


def vector(steps: Sequence[Step], call: Call) -> Callable[..., Any]:
    """The function that gives what the last steps made: a matrix or so, and a vector."""

    def function(*args: Any) -> Any:
        values = list(args)
        for step in steps:
            values.append(call(step.name, *[values[i] for i in step.operands], *step.rest))
        return values[-1], call("mul", values[-2], 0.5)

    return function


def scalar(steps: Sequence[Step], call: Call) -> Callable[..., Any]:
    """The function that folds all that the steps made into one number."""

    def function(*args: Any) -> Any:
        values, total = list(args), None
        for step in steps:
            values.append(call(step.name, *[values[i] for i in step.operands], *step.rest))
            part = call("sum", call("sin", values[-1]))
            total = part if total is None else call("add", total, part)
        return total

    return function


def arguments(seed: int) -> list[np.ndarray]:
    """Numbers for the arguments; none are close to each other, so that amax is smooth."""
    rng = np.random.default_rng(seed + 1000)
    return [rng.uniform(0.2, 1.3, shape) * rng.choice([-1, 1], shape) for shape in SHAPES]


def directions(seed: int, like: Sequence[Any]) -> list[np.ndarray]:
    """A direction for each of these shapes."""
    rng = np.random.default_rng(seed + 2000)
    return [rng.uniform(-1, 1, tuple(x.shape)) for x in like]
