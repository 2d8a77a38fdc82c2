"""Steps bound to a divided space: functions of a block's arrays, the last of which is written."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.plan.code import CONTRACT, FOLD, MAP, Code, Step

PIECE = 1 << 8
"""Elements that are added up without pairing at a time, which takes a third of the time."""
SHORT = 1 << 10
"""Elements of rows up to which all of a row is added up so."""
LONG = 1 << 13
"""Elements of rows up to which BLAS sums up products on one thread."""
EXTREMES = (np.maximum, np.minimum)


class Part(NamedTuple):
    """A value in the divided space: its shape there, and whether it differs from row to row.

    same: an index that leaves axes out along which it is the same everywhere, order: its axes from
    the outermost of the space inwards; None where all are there, and in order.
    """

    number: int
    shape: tuple[int, ...]
    sliced: bool
    dtype: np.dtype
    same: tuple[Any, ...] | None
    order: tuple[int, ...] | None

    def seen(self, array: Any) -> Any:
        """An array of the value, in the divided space: a view."""
        if array.shape == self.shape and self.order is None:
            return array
        if self.same is not None:
            array = array[self.same]
        if self.order is not None:
            array = array.transpose(self.order)
        return array.reshape(self.shape)


def bound(
    step: Step, before: Part, after: Part, dims: Sequence[int], arrays: Container[int]
) -> Callable[..., Any]:
    """What runs for a step whose first array is `before`, and whose result is `after`.

    arrays: the values that are arrays, and not numbers.
    """
    if step.kind not in (FOLD, CONTRACT):
        if step.run in EXTREMES:  # take no array to write into by place
            return partial(_spread if with_number(step, arrays) else _written, step.run)
        whole: Callable[..., Any] = step.run
        return whole
    gone = tuple(
        i for i, (n, m) in enumerate(zip(before.shape, after.shape, strict=True))
        if n != m or (n == 1 and i == 0 and before.sliced and not after.sliced)
    )  # fmt: skip
    if step.run is np.add and before.dtype.kind == "f" and gone:
        last = tuple(range(len(dims) - len(gone), len(dims)))
        if gone == last and before.shape == tuple(dims) and prod(dims[gone[0] :]) > SHORT:
            return partial(_paired, gone)
        if gone == (len(dims) - 1,) and dims[-1] <= SHORT:
            return partial(_contract, *_subscripts(len(dims), gone, 1))
    if step.kind == CONTRACT:
        if len(step.operands) == 2 and gone == (len(dims) - 1,) and dotted(before, dims):
            return _dot
        return partial(_contract, *_subscripts(len(dims), gone, len(step.operands)))
    return partial(_fold, step.run.reduce, gone)


def dotted(part: Part, dims: Sequence[int]) -> bool:
    """Whether rows of products with a value of its kind are summed up by BLAS, each at once."""
    fitting = part.shape == tuple(dims) and part.dtype in (np.float32, np.float64)
    return fitting and len(dims) > 1 and PIECE // 2 <= dims[-1] <= LONG


def with_number(step: Step, arrays: Container[int]) -> bool:
    """Whether a step is the larger or smaller of an array and a number, not written over it.

    NumPy compares two arrays many elements at a time, and an array with a number one by one: the
    result is filled with the number first.
    """
    return step.run in EXTREMES and any(n not in arrays for n in step.operands)


def number_taken(code: Code, step: Step, number: int) -> np.ndarray | None:
    """A Python number as the array without axes that a ufunc makes of it, which takes as long in
    each call as the call itself; None where that is the ufunc's affair.
    """
    if step.kind != MAP or not isinstance(step.run, np.ufunc):
        return None
    known, arrays = code.constants, code.phantoms
    kinds = [arrays[n].dtype if n in arrays else type(known[n]) for n in step.operands]
    if not {kind for kind in kinds if isinstance(kind, type)} <= {int, float, complex}:
        return None
    dtype = step.run.resolve_dtypes((*kinds, None))[step.operands.index(number)]
    if dtype.kind not in "fc":  # what an integer's dtype doesn't hold is refused in the call
        return None
    with np.errstate(all="ignore"):
        return np.asarray(known[number], dtype)


def _written(ufunc: Any, a: Any, b: Any, out: Any) -> None:
    ufunc(a, b, out=out)


def _spread(ufunc: Any, a: Any, b: Any, out: Any) -> None:
    if type(a) is np.ndarray and a.ndim:
        out.fill(b)
        ufunc(a, out, out=out)
    else:
        out.fill(a)
        ufunc(out, b, out=out)


def _dot(a: Any, b: Any, out: Any) -> None:
    np.vecdot(a, b, out=out[..., 0])


def _fold(reduce: Callable[..., Any], axes: tuple[int, ...], x: Any, out: Any) -> None:
    reduce(x, axes, None, out, True)


def _paired(axes: tuple[int, ...], x: Any, out: Any) -> None:
    """Sums over the last axes: of pieces without pairing, then of those."""
    count = prod(x.shape[axes[0] :])
    if count % PIECE or count < 2 * PIECE or not x.flags.c_contiguous:
        np.add.reduce(x, axis=axes, out=out, keepdims=True)
        return
    parts = np.einsum("ij->i", x.reshape(-1, PIECE)).reshape(*x.shape[: axes[0]], -1)
    np.add.reduce(parts, axis=-1, out=out.reshape(parts.shape[:-1]))


def _contract(subscripts: str, gone: tuple[int, ...], *operands: Any) -> None:
    *factors, out = operands
    np.einsum(subscripts, *factors, out=out.squeeze(gone))


def _subscripts(ndim: int, gone: tuple[int, ...], count: int) -> tuple[str, tuple[int, ...]]:
    letters = "abcdefghijklmnopqrstuvwxyz"[:ndim]
    kept = "".join(c for i, c in enumerate(letters) if i not in gone)
    return ",".join([letters] * count) + "->" + kept, gone
