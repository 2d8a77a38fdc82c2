"""Sums over some of an array's axes, in few calls where NumPy adds up row by row.

NumPy goes through an array in rows of its last axes, with some ten nanoseconds for each: the sum of
500×8 pairs takes it 59 µs. To add the two columns takes 2.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.kernels.ones import ones_of

LONGEST = 1024
"""Elements of a row up to which it is added up here, in few parts: NumPy adds longer rows in pairs
of pairs, which is more exact and no slower."""
PAIRS, LONG = 4, 64
"""Elements of a row up to which the columns are added, and from which on each row is a product with
ones. A row's sum thereby depends on nothing but the row, as BLAS's product of a matrix does not."""

OF_BLAS = frozenset(np.dtype(kind) for kind in ("f4", "f8", "c8", "c16"))
"""Dtypes that BLAS has; numbers of others are added up in another one."""
_reduce: Any = np.add.reduce
_products: Any = np.vecdot  # of whose keepdims its types know nothing


class _Fold(NamedTuple):
    """One run of neighbouring axes: elements before, in and after it."""

    before: int
    size: int
    after: int


def summed(input: Any, axes: tuple[int, ...] | None, keepdims: bool = False) -> Any:
    """The sum over some axes (distinct, not negative), or over all of them; a new array."""
    if type(input) is not np.ndarray:
        return input.sum(axis=axes or None, keepdims=keepdims)
    if axes and input.dtype in OF_BLAS and input.flags.c_contiguous:
        found = _folds(input.shape, axes, keepdims)
        if found is not None:
            return _by_blas(input, *found)
    return _reduce(input, axes or None, None, None, keepdims)


def is_numpys(array: Any, axes: tuple[int, ...] | None) -> bool:
    """Whether `summed` leaves an array of this shape and dtype to NumPy, however it lies."""
    return not axes or array.dtype not in OF_BLAS or _folds(array.shape, axes, False) is None


def _by_blas(array: np.ndarray, folds: tuple[_Fold, ...], shape: tuple[int, ...]) -> np.ndarray:
    for before, size, after in folds:
        if after == 1:
            array = of_rows(array.reshape(before, size))
        elif before == 1:
            array = ones_of(size, array.dtype).dot(array.reshape(size, after))
        else:
            ones = ones_of(size, array.dtype)
            array = np.matmul(ones, array.reshape(before, size, after))
    return array.reshape(shape)


def of_rows(rows: Any) -> Any:
    """The sum of each row of a matrix of one of BLAS's dtypes; equal rows have equal sums."""
    size = rows.shape[1]
    if size > LONGEST or not size:
        return np.add.reduce(rows, axis=1)
    if size >= LONG:
        return np.vecdot(ones_of(size, rows.dtype), rows)
    if size > PAIRS:
        return np.einsum("ij->i", rows)
    found = rows[:, 0] + rows[:, 1] if size > 1 else rows[:, 0].copy()
    for column in range(2, size):
        found += rows[:, column]
    return found


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


def fold_into(array: Any, axes: tuple[int, ...], out: np.ndarray, many: bool) -> Any:
    """The call and arguments that write the sum over some axes to `out`; None: NumPy is to do it.

    many: whether the first axis counts steps, each of which is added up as it would be by itself.
    """
    alike = type(array) is np.ndarray and array.dtype == out.dtype and array.dtype in OF_BLAS
    if not alike or not array.flags.c_contiguous:
        return None
    found = _folds(array.shape[many:], tuple([axis - many for axis in axes]), False)
    if found is None:
        return None
    times = len(array) if many else 1
    folds = tuple([fold._replace(before=fold.before * times) for fold in found[0]])
    return _write_sum, (array, folds, out)


def _write_sum(array: np.ndarray, folds: tuple[_Fold, ...], out: np.ndarray) -> None:
    out[...] = _by_blas(array, folds, out.shape)


def row_sums(xp: Any, rows: Any) -> Any:
    """A column with the sum of each row of a real matrix, which has some columns."""
    if type(rows) is not np.ndarray:
        return xp.einsum("ij->i", rows)[:, None]
    size = rows.shape[1]
    if size > LONGEST:
        return np.add.reduce(rows, axis=1, keepdims=True)
    return _products(ones_of(size, rows.dtype), rows, keepdims=True)


def row_products(xp: Any, rows: Any, others: Any) -> Any:
    """A column with the sum of each row of the product of two real matrices by their elements."""
    if type(rows) is np.ndarray:
        return _products(rows, others, keepdims=True)
    return xp.einsum("ij,ij->i", rows, others)[:, None]
