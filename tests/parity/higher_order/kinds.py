"""What a step of a random function does: every kind runs on torch and on gradwire alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Settings = tuple[Any, ...]
Draw = Callable[[np.random.Generator, Sequence[tuple[int, ...]]], Settings]
"""Settings for operands of these shapes; ValueError where they fit none."""
FAR = float("inf")


class Kind(NamedTuple):
    """A kind of step. edge: how far the operands are from where the slope jumps."""

    arity: int
    run: Callable[..., Any]
    settings: Draw = lambda rng, shapes: ()
    edge: Callable[..., float] = lambda *operands: FAR


def _axis(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> Settings:
    return (int(rng.integers(-len(shapes[0]), len(shapes[0]))),)


def _axis_kept(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> Settings:
    return (*_axis(rng, shapes), bool(rng.integers(2)))


def _two_axes(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> Settings:
    first, second = rng.choice(len(shapes[0]), 2, replace=False)
    return int(first), int(second)


def _number(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> Settings:
    return (round(float(rng.uniform(-1, 1)), 3),)


def _place(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> Settings:
    (axis,) = _axis(rng, shapes)
    return axis, int(rng.integers(shapes[0][axis]))


def _part(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> Settings:
    start = int(rng.integers(shapes[0][-1]))
    return start, int(rng.integers(start, shapes[0][-1])) + 1


def _rows(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> Settings:
    size = shapes[0][0] if shapes[0] else 0
    return (tuple(int(i) for i in rng.integers(0, size, rng.integers(1, 4))),)


def _apart(a: np.ndarray, b: Any) -> float:
    return float(np.abs(a - b).min(initial=FAR))


def _apart_along(a: np.ndarray, axis: int, *rest: Any) -> float:
    return float(np.diff(np.sort(a, axis), axis=axis).min(initial=FAR))


def _functional(name: str) -> Callable[..., Any]:
    return lambda torch, x, *rest: getattr(torch.nn.functional, name)(x, *rest)


def _named(name: str) -> Callable[..., Any]:
    return lambda torch, *operands: getattr(torch, name)(*operands)


def _written(torch: Any, a: Any, b: Any, axis: int, place: int) -> Any:
    made = a * 1
    made.select(axis, place).add_(b.sum())
    made[..., 0] = made[..., 0].clone() * b.mean()
    return made


def _put(torch: Any, x: Any, rows: Sequence[int]) -> Any:
    return torch.zeros_like(x).index_add(0, torch.tensor(rows), x[list(rows)])


def _regular(torch: Any, x: Any) -> Any:
    return x @ x.transpose(-2, -1) + torch.eye(x.shape[0], dtype=x.dtype)


def _normalised(torch: Any, x: Any) -> Any:
    """By hand: of torch's own layer_norm third derivatives don't sum to 0, which they have to."""
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 0.1).sqrt()


SMOOTH = {name: Kind(1, _named(name)) for name in ("sin", "cos", "tanh", "sigmoid", "erf", "atan")}
SMOOTH |= {name: Kind(1, _functional(name)) for name in ("gelu", "silu", "softplus", "logsigmoid")}
SMOOTH |= {
    "asinh": Kind(1, _named("asinh")),
    "exp": Kind(1, lambda torch, x: (x.tanh() * 2).exp()),
    "expm1": Kind(1, lambda torch, x: torch.expm1(torch.sin(x))),
    "log1p": Kind(1, lambda torch, x: torch.log1p(x * x)),
    "log": Kind(1, lambda torch, x: (x.square() + 0.5).log()),
    "sqrt": Kind(1, lambda torch, x: (x**2 + 1).sqrt()),
    "rsqrt": Kind(1, lambda torch, x: torch.rsqrt(x * x + 1)),
    "cube": Kind(1, lambda torch, x: x**3),
    "power": Kind(1, lambda torch, x: (1 + x.square()) ** 0.7),
    "reciprocal": Kind(1, lambda torch, x: 1 / (2 + x.cos())),
    "scaled": Kind(1, lambda torch, x, c: c * x - 1, _number),
}
PAIRED = {name: Kind(2, _named(name)) for name in ("add", "sub", "mul", "logaddexp")}
PAIRED |= {
    "div": Kind(2, lambda torch, a, b: a / (1 + b * b)),
    "atan2": Kind(2, lambda torch, a, b: torch.atan2(a, b.tanh().exp() + 1)),
    "hypot": Kind(2, lambda torch, a, b: torch.hypot(a, b.tanh().cosh())),
    "lerp": Kind(2, lambda torch, a, b, c: torch.lerp(a, b.expand_as(a), c), _number),
    "maximum": Kind(2, _named("maximum"), edge=_apart),
    "minimum": Kind(2, _named("minimum"), edge=_apart),
}  # fmt: skip
CHOOSING = {
    "where": Kind(2, lambda torch, a, b: torch.where(a > b, a * b, b.sin()), edge=_apart),
    "where number": Kind(
        1,
        lambda torch, x, c: torch.where(x < c, x.exp(), x + c),
        _number,
        edge=lambda x, c: min(_apart(x, c), 5 - np.abs(x).max(initial=0)),
    ),
    "relu": Kind(1, _functional("relu"), edge=lambda x: _apart(x, 0)),
    "elu": Kind(1, _functional("elu"), edge=lambda x: _apart(x, 0)),
    "leaky": Kind(1, _functional("leaky_relu"), edge=lambda x: _apart(x, 0)),
    "abs": Kind(1, _named("abs"), edge=lambda x: _apart(x, 0)),
    "clamp": Kind(
        1, lambda torch, x, c: torch.clamp(x, c - 1, c), _number,
        edge=lambda x, c: min(_apart(x, c), _apart(x, c - 1)),
    ),
    "masked": Kind(1, lambda torch, x, c: x.masked_fill(x > c, 0.5) * x, _number, edge=_apart),
}  # fmt: skip
PRODUCTS = {
    "matmul": Kind(2, _named("matmul")),
    "outer": Kind(2, lambda torch, a, b: torch.outer(a.flatten(), b.flatten())),
    "dot": Kind(2, lambda torch, a, b: torch.dot(a.flatten(), b.flatten())),
    "gram": Kind(1, lambda torch, x: x @ x.transpose(-2, -1)),
    "einsum": Kind(2, lambda torch, a, b: torch.einsum("ij,kj->ik", a, b)),
    "linear": Kind(2, lambda torch, a, b: torch.nn.functional.linear(a, b)),
    "bilinear": Kind(2, lambda torch, a, b: torch.einsum("i,ij,j->", a[:, 0], a @ b, b[0])),
    "inverse": Kind(1, lambda torch, x: torch.linalg.inv(_regular(torch, x))),
    "solve": Kind(
        2,
        lambda torch, a, b: torch.linalg.solve(_regular(torch, a), b),
    ),
    "logdet": Kind(1, lambda torch, x: torch.logdet(_regular(torch, x))),
}
REDUCTIONS = {
    name: Kind(1, _named(name), _axis_kept) for name in ("sum", "mean", "prod", "logsumexp")
}
REDUCTIONS |= {
    name: Kind(1, _named(name), _axis_kept, edge=_apart_along) for name in ("amax", "amin")
}
REDUCTIONS |= {
    "total": Kind(1, lambda torch, x: x.sum()),
    "average": Kind(1, lambda torch, x: x.mean()),
    "var": Kind(1, lambda torch, x: x.var(unbiased=False)),
    "norm": Kind(1, lambda torch, x: (x.square().sum() + 0.1).sqrt()),
    "max": Kind(1, lambda torch, x, axis: torch.max(x, axis)[0], _axis, edge=_apart_along),
}
ALONG = {name: Kind(1, _named(name), _axis) for name in ("cumsum", "cumprod")}
ALONG |= {name: Kind(1, _functional(name), _axis) for name in ("softmax", "log_softmax")}
ALONG |= {
    "softmin": Kind(1, lambda torch, x, axis: torch.softmax(-x, axis) * x, _axis),
    "flip": Kind(1, lambda torch, x, axis: torch.flip(x, (axis,)), _axis),
    "roll": Kind(1, lambda torch, x, axis: torch.roll(x, 1, axis), _axis),
    "sort": Kind(1, lambda torch, x, axis: torch.sort(x, axis)[0], _axis, edge=_apart_along),
    "normalised": Kind(1, _normalised),
}
INDEXING = {
    "select": Kind(1, lambda torch, x, axis, place: x.select(axis, place), _place),
    "row": Kind(1, lambda torch, x, axis, place: x[-1] if axis else x[0], _place),
    "part": Kind(1, lambda torch, x, start, end: x[..., start:end], _part),
    "strided": Kind(1, lambda torch, x, start, end: x[..., ::2], _part),
    "rows": Kind(1, lambda torch, x, rows: x[list(rows)], _rows),
    "index_select": Kind(
        1, lambda torch, x, rows: torch.index_select(x, 0, torch.tensor(rows)), _rows
    ),
    "gather": Kind(
        1, lambda torch, x, axis: torch.gather(x, axis, torch.argsort(x.detach(), axis)), _axis,
        edge=_apart_along,
    ),
    "diagonal": Kind(1, lambda torch, x: torch.diagonal(x)),
    "tril": Kind(1, lambda torch, x: torch.tril(x) + x.triu(1).sin()),
    "written": Kind(2, _written, _place),
    "put": Kind(1, _put, _rows),
}  # fmt: skip
SHAPES = {
    "flatten": Kind(1, lambda torch, x: x.reshape(-1)),
    "transpose": Kind(1, _named("transpose"), _two_axes),
    "unsqueeze": Kind(1, lambda torch, x, axis: x.unsqueeze(axis), _axis),
    "expand": Kind(1, lambda torch, x: x.expand(2, *x.shape)),
    "cat": Kind(2, lambda torch, a, b, axis: torch.cat([a, b], axis), _axis),
    "stack": Kind(2, lambda torch, a, b: torch.stack([a, b.expand_as(a)])),
    "split": Kind(1, lambda torch, x, axis: torch.mul(*x.chunk(2, axis)), _axis),
    "repeat": Kind(1, lambda torch, x: x.repeat(2)),
    "constant": Kind(1, lambda torch, x, c: x * torch.full(x.shape[-1:], c).to(x.dtype), _number),
}
GROUPS = {
    "math": SMOOTH,
    "broadcasting": PAIRED,
    "where": CHOOSING,
    "products": PRODUCTS,
    "reductions": REDUCTIONS,
    "softmax and the like": ALONG,
    "indexing": INDEXING,
    "shapes": SHAPES,
}
KINDS = {name: kind for group in GROUPS.values() for name, kind in group.items()}
