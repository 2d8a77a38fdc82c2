"""torch.gradient: slopes of sampled functions by differences of second order."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument, shape_mismatch
from gradwire_engine.families import composite
from gradwire_engine.ops.arithmetic import div, mul, sub
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.join import cat
from gradwire_engine.ops.views import narrow
from gradwire_engine.signature import Arrays, Dims, axes


def _one_step(f: Any, dim: int, start: int, h: Any) -> Any:
    """The slope between two neighbours."""
    return div(sub(narrow(f, dim, start + 1, 1), narrow(f, dim, start, 1)), h)


def _blend(near: Any, far: Any, h_near: Any, h_far: Any) -> Any:
    """The slope at an end, of second order, from those of the two next intervals."""
    weight = h_near / (h_near + h_far)
    return near + mul(sub(near, far), weight)


def _slopes(f: Any, dim: int, steps: Any, edge_order: int) -> Any:
    """steps: the distances of neighbours along the axis, in a shape that broadcasts."""
    size = f.shape[dim]
    count = size - 2
    uniform = isinstance(steps, (int, float))

    def step(start: int, length: int = 1) -> Any:
        return steps if uniform else narrow(steps, dim, start, length)

    first, last = _one_step(f, dim, 0, step(0)), _one_step(f, dim, size - 2, step(size - 2))
    if edge_order == 2:
        second, before = _one_step(f, dim, 1, step(1)), _one_step(f, dim, size - 3, step(size - 3))
        first = _blend(first, second, step(0), step(1))
        last = _blend(last, before, step(size - 2), step(size - 3))
    if not count:
        return cat([first, last], dim)
    left, middle, right = (narrow(f, dim, i, count) for i in range(3))
    if uniform:
        inner = div(sub(right, left), 2 * steps)
    else:
        h, k = step(0, count), step(1, count)
        inner = div(mul(sub(middle, left), k / h) + mul(sub(right, middle), h / k), h + k)
    return cat([first, inner, last], dim)


def _gaps(points: Any, dim: int, ndim: int) -> Any:
    if points.ndim != 1:
        raise shape_mismatch(
            f"gradient: spacing has a tensor of shape {list(points.shape)}",
            "give a number, or a vector of the points along its dim",
        )
    size = points.shape[0]
    found = sub(narrow(points, 0, 1, size - 1), narrow(points, 0, 0, size - 1))
    return reshape(found, tuple(-1 if i == dim else 1 for i in range(ndim)))


def _all_slopes(
    input: Any, spacings: Any, dims: tuple[int, ...], edge_order: int
) -> tuple[Any, ...]:
    if edge_order not in (1, 2) or any(input.shape[d] < edge_order + 1 for d in dims):
        raise invalid_argument(
            f"gradient: edge_order is {edge_order}, the tensor is {list(input.shape)}",
            "it is 1 or 2, and each dim needs one element more than that",
        )
    if len(spacings) != len(dims):
        raise invalid_argument(
            f"gradient: {len(spacings)} spacings for {len(dims)} dims",
            "give one for each dim, or a single number",
        )
    return tuple(_slopes(input, d, s, edge_order) for d, s in zip(dims, spacings, strict=True))


@composite()
def gradient(
    input: Array, *, spacing: Arrays, dim: Dims | None = None, edge_order: int = 1
) -> tuple[Array, ...]:
    """Slopes along each axis (or those named) of a function sampled at these points or steps."""
    dims = axes("gradient", dim, input.ndim)
    points = [
        p if isinstance(p, (int, float)) else _gaps(p, d, input.ndim)
        for p, d in zip(spacing, dims, strict=False)
    ]
    if len(points) != len(spacing):
        points = list(spacing)  # too many, which is refused below
    return _all_slopes(input, points, dims, edge_order)


@composite(name="gradient")
def gradient_by_steps(
    input: Array, *, spacing: float | None = None, dim: Dims | None = None, edge_order: int = 1
) -> tuple[Array, ...]:
    """Slopes along each axis (or those named) of a function sampled at equal steps."""
    dims = axes("gradient", dim, input.ndim)
    return _all_slopes(input, [1.0 if spacing is None else spacing] * len(dims), dims, edge_order)
