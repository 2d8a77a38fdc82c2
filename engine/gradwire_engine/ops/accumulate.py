"""How kernels add at places that repeat, on any array library, and check places beforehand."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error


def summed(xp: Any, places: Array, values: Array, size: int) -> Array:
    """A vector of `size` where each value has been added at its place; places may repeat."""
    places, values = places.reshape(-1), values.reshape(-1)
    kind = values.dtype.kind
    if not values.size or not size:
        return xp.zeros(size, values.dtype)
    if kind == "c":
        out = xp.empty(size, values.dtype)
        out.real = xp.bincount(places, weights=values.real, minlength=size)
        out.imag = xp.bincount(places, weights=values.imag, minlength=size)
        return out
    if kind in "fV":  # V: bfloat16, which NumPy does not know as a floating dtype
        weights = values.astype(xp.float32) if kind == "V" else values
        return xp.bincount(places, weights=weights, minlength=size).astype(values.dtype)
    out = xp.zeros(size, xp.int64)  # exact, which bincount's float64 is not
    xp.add.at(out, places, values.astype(xp.int64))
    return out.astype(values.dtype)


def summed_rows(xp: Any, places: Array, rows: Array, size: int) -> Array:
    """Rows (m, width) added at their places among `size` rows."""
    width = rows.shape[1]
    if width == 1:
        return summed(xp, places, rows, size).reshape(size, 1)
    if hasattr(xp.add, "reduceat") and places.size and width:
        return _segments_summed(xp, places, rows, size)
    spread = places.reshape(-1, 1) * width + xp.arange(width)
    return summed(xp, spread, rows, size * width).reshape(size, width)


def _segments_summed(xp: Any, places: Array, rows: Array, size: int) -> Array:
    """Sorted by place, equal ones lie together and are added by one call."""
    order = xp.argsort(places, kind="stable")
    ordered = places[order]
    starts = xp.flatnonzero(xp.concatenate([xp.ones(1, bool), ordered[1:] != ordered[:-1]]))
    out = xp.zeros((size, rows.shape[1]), rows.dtype)
    if starts.size == places.size:  # nothing repeats
        out[places] = rows
    else:
        out[ordered[starts]] = xp.add.reduceat(rows[order], starts, axis=0)
    return out


def in_range(
    asked: str,
    index: Array,
    size: int,
    *,
    dim: int,
    negative: bool,
    raised: type[Exception] = IndexError,
) -> None:
    """Refuse places beyond an axis: some array libraries would let them go round."""
    if not index.size:
        return
    low, high = int(index.min()), int(index.max())
    if high >= size or low < (-size if negative else 0):
        wrong = high if high >= size else low
        raise error(
            "invalid_argument",
            f"{asked}: index {wrong} is out of bounds for dimension {dim} with size {size}",
            f"indices must lie between {-size if negative else 0} and {size - 1}",
            raised=raised,
        )


def from_front(index: Array, size: int) -> Array:
    """Indices that may count from the end as ones that count from the front."""
    return index + (index < 0) * size if index.size and int(index.min()) < 0 else index


def steps_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The distance in elements between neighbours along each axis of a row-major array."""
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))
