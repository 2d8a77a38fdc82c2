"""Tensors that count: arange, linspace, logspace, eye, and the indices of triangles."""

from __future__ import annotations

from math import ceil, isfinite
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import composite, primitive
from gradwire_engine.ops.creation import default_dtype, number_dtype
from gradwire_engine.ops.known import number
from gradwire_engine.promote import promote_types
from gradwire_engine.signature import Device
from gradwire_engine.spec import FLOAT, DType, Number, Spec, int64


def _range_dtype(numbers: tuple[Number, ...], dtype: DType | None) -> DType:
    if dtype is not None:
        return dtype
    return int64 if all(isinstance(n, int) for n in numbers) else default_dtype()


def _cut_to(dtype: DType | None, *numbers: Number) -> tuple[Any, ...]:
    """Bounds and steps as whole numbers where the result has such a dtype."""
    whole = dtype is not None and dtype.category < FLOAT
    return tuple(int(n) if whole and isinstance(n, float) else n for n in numbers)


def _length(start: Any, end: Any, step: Any) -> int:
    if not step or not all(map(isfinite, (start, end, step))):
        raise invalid_argument(
            f"arange: from {start} to {end} by {step}",
            "the bounds must be finite and the step not zero",
        )
    if (end - start) * step < 0:
        raise invalid_argument(
            f"arange: from {start} to {end} the step {step} leads away",
            "change the sign of the step",
        )
    if all(isinstance(n, int) for n in (start, end, step)):
        return -(-(end - start) // step)
    return ceil((end - start) / step)


def _arange(start: Number, end: Number, step: Number, dtype: DType | None) -> Spec:
    if dtype is int64:
        start, end, step = _cut_to(dtype, start, end, step)
    return Spec((_length(start, end, step),), _range_dtype((start, end, step), dtype), "")


@primitive(spec=_arange, name="arange")
def arange_from(
    xp: Any,
    start: Number,
    end: Number,
    step: Number = 1,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """Numbers from start (0 unless given) up to but without end, step apart."""
    if dtype is int64:
        start, end, step = _cut_to(dtype, start, end, step)
    count, wanted = _length(start, end, step), _range_dtype((start, end, step), dtype)
    start, step = _cut_to(wanted, start, step)
    if wanted.category < FLOAT and all(isinstance(n, int) for n in (start, step)):
        return xp.arange(count) * step + start
    return xp.arange(count, dtype=xp.float64) * step + start


@composite(name="arange")
def _arange_to(end: Number, *, dtype: DType | None = None, device: Device | None = None) -> Array:
    """Numbers from 0 up to but without end."""
    return arange_from(0, end, 1, dtype=dtype, device=device)


def _spaced(steps: int, dtype: DType | None, numbers: tuple[Number, ...] = ()) -> Spec:
    if steps < 0:
        raise invalid_argument(f"linspace: {steps} steps", "steps must be >= 0")
    wanted = dtype or default_dtype()
    for bound in numbers:
        if dtype is None and isinstance(bound, complex):
            wanted = promote_types(wanted, number_dtype(bound))
    return Spec((steps,), wanted, "")


@primitive(spec=lambda start, end, steps, dtype: _spaced(steps, dtype, (start, end)))
def linspace(
    xp: Any,
    start: Number,
    end: Number,
    steps: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """So many numbers from start to end, equally far apart, both included."""
    return _evenly(xp, start, end, steps, dtype)


def _evenly(xp: Any, start: Number, end: Number, steps: int, dtype: DType | None) -> Array:
    """Each half counted from its own end, so that both are exact."""
    start, end = _cut_to(dtype, start, end)
    if steps == 1:
        return xp.full(1, start)
    step, places = (end - start) / max(steps - 1, 1), xp.arange(steps)
    return xp.where(places < steps // 2, start + step * places, end - step * (steps - 1 - places))


@composite(name="linspace")
def _linspace_of(
    start: Array,
    end: Array,
    steps: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """So many numbers from one scalar tensor's value to another's."""
    bounds = (_value("linspace", n) for n in (start, end))
    return linspace(*bounds, steps, dtype=dtype, device=device)


def _value(asked: str, bound: Any) -> Number:
    return number(asked, bound) if hasattr(bound, "shape") else bound


@primitive(spec=lambda start, end, steps, dtype: _spaced(steps, dtype, (start, end)))
def logspace(
    xp: Any,
    start: Number,
    end: Number,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """So many powers of a base whose exponents are equally far apart from start to end."""
    return xp.power(base, _evenly(xp, start, end, steps, dtype))


@composite(name="logspace")
def _logspace_of(
    start: Array,
    end: Array,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """So many powers whose exponents go from one scalar tensor's value to another's."""
    bounds = (_value("logspace", n) for n in (start, end))
    return logspace(*bounds, steps, base, dtype=dtype, device=device)


def _eye(n: int, m: int | None, dtype: DType | None) -> Spec:
    columns = n if m is None else m
    if n < 0 or columns < 0:
        raise invalid_argument(f"eye: {n} rows and {columns} columns", "both are >= 0")
    return Spec((n, columns), dtype or default_dtype(), "")


@primitive(spec=_eye, exact=True)
def eye(
    xp: Any,
    n: int,
    m: int | None = None,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """A matrix with ones on the diagonal and zeros elsewhere."""
    return xp.eye(n, m, 0, (dtype or default_dtype()).numpy)


def _triangle(row: int, col: int, offset: int, lower: bool) -> int:
    """How many elements of a matrix lie on one side of a diagonal."""
    if row < 0 or col < 0:
        raise invalid_argument(f"triangle of {row}×{col}", "sizes are >= 0")
    kept = _below(row, col, offset)
    return kept if lower else row * col - _below(row, col, offset - 1)


def _below(row: int, col: int, offset: int) -> int:
    """How many elements lie on and below a diagonal: rows that grow by one, then full ones."""
    first = min(max(-offset, 0), row)
    full = min(max(col - offset - 1, first), row)
    growing = full - first
    return growing * (first + offset + 1) + growing * (growing - 1) // 2 + (row - full) * col


def _pairs(row: int, col: int, offset: int, dtype: DType | None, lower: bool) -> Spec:
    return Spec((2, _triangle(row, col, offset, lower)), dtype or int64, "")


@primitive(spec=lambda row, col, offset, dtype: _pairs(row, col, offset, dtype, True))
def tril_indices(
    xp: Any,
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """Rows and columns of the elements on and below a diagonal, in row order."""
    return _places(xp, row, col, offset, True)


@primitive(spec=lambda row, col, offset, dtype: _pairs(row, col, offset, dtype, False))
def triu_indices(
    xp: Any,
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """Rows and columns of the elements on and above a diagonal, in row order."""
    return _places(xp, row, col, offset, False)


def _places(xp: Any, row: int, col: int, offset: int, lower: bool) -> Array:
    """Rows and columns of a triangle, without the matrix that it is a part of."""
    total = _triangle(row, col, offset, lower)
    start = min(max(-offset, 0), row) if lower else 0
    stop = row if lower else max(min(row, col - offset), 0)
    rows = xp.arange(start, stop)
    first = xp.zeros_like(rows) if lower else xp.clip(rows + offset, 0, col)
    counts = (xp.clip(rows + offset + 1, 0, col) if lower else col) - first
    ends = xp.cumsum(counts)
    which = xp.searchsorted(ends, xp.arange(total), side="right")
    return xp.stack([rows[which], first[which] + xp.arange(total) - (ends - counts)[which]])
