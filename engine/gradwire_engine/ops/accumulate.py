"""How kernels add at places that repeat, on any array library, and check places beforehand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument
from gradwire_engine.kernels.ones import ones_of


def _half(values: Array) -> bool:
    """float16 or bfloat16, which NumPy has as a kind of its own."""
    return values.dtype.kind in "fV" and values.dtype.itemsize == 2


def summed(xp: Any, places: Array, values: Array, size: int) -> Array:
    """A vector of `size` where each value has been added at its place; places may repeat."""
    places, values = places.reshape(-1), values.reshape(-1)
    dtype = values.dtype
    if not values.size or not size:
        return xp.zeros(size, dtype)
    if dtype.kind == "c":
        out = xp.empty(size, dtype)
        out.real = summed(xp, places, xp.ascontiguousarray(values.real), size)
        out.imag = summed(xp, places, xp.ascontiguousarray(values.imag), size)
        return out
    if _half(values):
        values = values.astype(xp.float32)
    elif dtype.kind != "f":
        values = values.astype(xp.int64)
    out = xp.zeros(size, values.dtype)
    xp.add.at(out, places, values)
    return out.astype(dtype, copy=False)


def summed_rows(xp: Any, places: Array, rows: Array, size: int) -> Array:
    """Rows (m, width) added at their places among `size` rows."""
    width, dtype = rows.shape[1], rows.dtype
    if width == 1:
        return summed(xp, places, rows, size).reshape(size, 1)
    rows = rows.astype(xp.float32) if _half(rows) else rows
    sparse = getattr(xp, "sparse", None)
    if sparse is not None and rows.dtype.kind in "fc":
        return _product(xp, sparse, places, rows, size).astype(dtype, copy=False)
    spread = places.reshape(-1, 1) * width + xp.arange(width)
    found = summed(xp, spread, rows, size * width).reshape(size, width)
    return found.astype(dtype, copy=False)


def _product(xp: Any, sparse: Any, places: Array, rows: Array, size: int) -> Array:
    """The product with the matrix that has a 1 at (place, i) for each row i and is sparse."""
    in_range("rows", places, size, dim=0, negative=False)  # sparse products don't look themselves
    count = places.size
    add = _add_columns() if type(rows) is np.ndarray else None
    if add is None:
        ones, columns = xp.ones(count, rows.dtype), xp.arange(count + 1)
        return sparse.csc_matrix((ones, places, columns), shape=(size, count)) @ rows
    width, out = rows.shape[1], np.zeros((size, rows.shape[1]), rows.dtype)
    ones, columns = ones_of(count, rows.dtype), np.arange(count + 1, dtype=np.int64)
    where = np.ascontiguousarray(places, np.int64)
    add(size, count, width, columns, where, ones, rows.ravel(), out.reshape(-1))
    return out


@cache
def _add_columns() -> Callable[..., None] | None:
    """SciPy's product of a sparse matrix: to make the matrix takes ten times as long as to use it.

    It has no public name, so where a version of SciPy lacks it the matrix is made.
    """
    try:
        from scipy.sparse import _sparsetools
    except ImportError:
        return None
    return getattr(_sparsetools, "csc_matvecs", None)


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
    if not index.size or (not negative and below(index, size)):
        return
    low, high = int(index.min()), int(index.max())
    if high >= size or low < (-size if negative else 0):
        wrong = high if high >= size else low
        raise invalid_argument(
            f"{asked}: index {wrong} is out of bounds for dimension {dim} with size {size}",
            f"indices must lie between {-size if negative else 0} and {size - 1}",
            raised=raised,
        )


_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


_SHORT = 16
"""Numbers that Python compares before NumPy has begun."""


def below(index: Array, size: int) -> bool:
    """Whether all places are in an axis, in one pass: unsigned, what is negative is large."""
    if type(index) is np.ndarray and index.size <= _SHORT:
        places = index.ravel().tolist()
        return not places or (min(places) >= 0 and max(places) < size)
    whole = index.view(_UNSIGNED[index.itemsize]) if index.dtype.kind == "i" else index
    if type(whole) is np.ndarray:
        return int(np.maximum.reduce(whole, axis=None)) < size
    return int(whole.max()) < size


def from_front(index: Array, size: int) -> Array:
    """Indices that may count from the end as ones that count from the front."""
    return index + (index < 0) * size if index.size and int(index.min()) < 0 else index


def steps_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The distance in elements between neighbours along each axis of a row-major array."""
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))
