"""Sums over some of an array's axes: BLAS folds in one call what NumPy folds row by row.

NumPy goes through an array in rows of its last axes, with some ten nanoseconds for each: the sum of
500×8 pairs takes it 59 µs. As a product with ones it takes 2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.kernels.ones import ones_of

LONGEST = 1024
"""Elements of a row up to which BLAS adds it up: it does so in few parts, where NumPy adds longer
rows in pairs of pairs, which is more exact and no slower."""

_OF_BLAS = frozenset(np.dtype(kind) for kind in ("f4", "f8", "c8", "c16"))


class _Fold(NamedTuple):
    """One run of neighbouring axes: elements before, in and after it."""

    before: int
    size: int
    after: int


def summed(input: Any, axes: tuple[int, ...] | None, keepdims: bool = False) -> Any:
    """The sum over some axes (distinct, not negative), or over all of them; a new array."""
    if type(input) is np.ndarray and axes and input.dtype in _OF_BLAS and input.flags.c_contiguous:
        found = _folds(input.shape, axes, keepdims)
        if found is not None:
            return _by_blas(input, *found)
    return input.sum(axis=axes or None, keepdims=keepdims)


def _by_blas(array: np.ndarray, folds: tuple[_Fold, ...], shape: tuple[int, ...]) -> np.ndarray:
    for before, size, after in folds:
        ones = ones_of(size, array.dtype)
        if after == 1:
            array = array.reshape(before, size).dot(ones)
        elif before == 1:
            array = ones.dot(array.reshape(size, after))
        else:
            array = np.matmul(ones, array.reshape(before, size, after))
    return array.reshape(shape)


@lru_cache(maxsize=4096)
def _folds(
    shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool
) -> tuple[tuple[_Fold, ...], tuple[int, ...]] | None:
    """The runs to fold, last one first, and the result's shape; None where NumPy is to do it."""
    gone = set(axes)
    if not all(shape) or prod(n for i, n in enumerate(shape) if i not in gone) == 1:
        return None
    left, folds, stop = list(shape), [], len(shape)
    while stop:
        start = stop
        while start and start - 1 in gone:
            start -= 1
        if start < stop:
            fold = _Fold(prod(left[:start]), prod(left[start:stop]), prod(left[stop:]))
            if fold.after == 1 and fold.size > LONGEST:
                return None
            folds.append(fold)
            left[start:stop] = []
        stop = start - 1 if start else 0
    kept = [1 if i in gone else n for i, n in enumerate(shape)] if keepdims else left
    return tuple(folds), tuple(kept)


def product_with_ones(
    array: Any, axes: tuple[int, ...], out: np.ndarray
) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
    """The call that writes such a sum over an array's last axes to another one, where BLAS does it.

    Both stay where they are; of `out` the axes that are folded may be kept, with one place each.
    """
    alike = type(array) is np.ndarray and array.dtype == out.dtype and array.dtype in _OF_BLAS
    if not alike or not (array.flags.c_contiguous and out.flags.c_contiguous):
        return None
    found = _folds(array.shape, axes, False)
    if found is None or len(found[0]) > 1 or found[0][0].after > 1:
        return None
    before, size, _ = found[0][0]
    ones = ones_of(size, array.dtype)
    return np.dot, (array.reshape(before, size), ones, out.reshape(before))


def row_sums(xp: Any, rows: Any) -> Any:
    """The sum of each row of a matrix."""
    if type(rows) is np.ndarray and rows.dtype in _OF_BLAS and rows.shape[1] <= LONGEST:
        return rows.dot(ones_of(rows.shape[1], rows.dtype))
    return xp.einsum("ij->i", rows)


def row_products(xp: Any, rows: Any, others: Any) -> Any:
    """The sum of each row of the product of two real matrices, element by element."""
    if type(rows) is np.ndarray:
        return np.vecdot(rows, others)
    return xp.einsum("ij,ij->i", rows, others)
