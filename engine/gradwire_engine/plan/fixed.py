"""Steps on arrays that stay where they are: calls with all their arguments, made once.

A step may also be done for many rows at a time: each operand then has an axis of rows in front, or
is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradwire_engine.kernels.sums import fold_into
from gradwire_engine.plan.code import CALL, CONTRACT, FOLD, JOIN, PRODUCT, Step
from gradwire_engine.plan.recorder import viewable

Call = tuple[Callable[..., Any], tuple[Any, ...]]
"""What is called, and with what."""
Operand = tuple[Any, bool]
"""An array, a number or None, and whether it has an axis of rows."""


def views(step: Step, source: Any, rows: bool) -> Sequence[Any]:
    """What a view shows of an array, or of each of its rows."""
    found = step.run(source[0, ...] if rows else source)
    several = found if isinstance(found, tuple | list) else (found,)
    if not all(np.may_share_memory(seen, source) for seen in several if seen.size):
        raise ValueError("a view that is a copy")
    if not rows:
        return several
    return [_in_rows(seen, source) for seen in several]


def _in_rows(seen: Any, source: Any) -> Any:
    """What was seen of the first row, of all rows."""
    return np.lib.stride_tricks.as_strided(
        seen, (source.shape[0], *seen.shape), (source.strides[0], *seen.strides)
    )


def call_of(step: Step, operands: Sequence[Operand], into: Sequence[Any]) -> Call:
    """The call that does a step, whose results are written to the arrays of `into`.

    Results have an axis of rows if any operand has.
    """
    out = into[0]
    given = [value for value, _ in operands]
    rows = any(many for _, many in operands)
    if step.kind == CALL:
        return (
            _each_row(step, operands, into) if rows else (partial(_whole, step.run), (given, into))
        )
    if step.kind in (FOLD, CONTRACT, JOIN):
        return _along_axes(step, operands, out, rows)
    if rows and step.kind == PRODUCT:
        return _product(operands, out)
    if rows:
        given = [_raised(value, out.ndim) if many else value for value, many in operands]
    if step.run in (np.maximum, np.minimum):  # take no array to write into by place
        return partial(step.run, out=out), tuple(given)
    return step.run, (*given, out)


def _whole(run: Callable[..., Any], operands: Sequence[Any], into: Sequence[Any]) -> None:
    """A kernel that makes its own arrays."""
    found = run(*operands)
    for array, made in zip(into, found if isinstance(found, tuple) else (found,), strict=True):
        array[...] = made


def _each_row(step: Step, operands: Sequence[Operand], into: Sequence[Any]) -> Call:
    every = [
        (
            [value[row, ...] if many else value for value, many in operands],
            [array[row, ...] for array in into],
        )
        for row in range(into[0].shape[0])
    ]

    def run() -> None:
        for given, results in every:
            _whole(step.run, given, results)

    return run, ()


def _along_axes(step: Step, operands: Sequence[Operand], out: Any, rows: bool) -> Call:
    """Steps that have to know an axis' number."""
    options = dict(step.options)
    given = [value for value, _ in operands]
    if rows:
        given = [v if many else np.broadcast_to(v, (len(out), *v.shape)) for v, many in operands]
    axis = options["axis"]
    if step.kind == JOIN:
        return partial(np.concatenate, axis=axis + rows, out=out), (given,)
    axes = tuple(i + rows for i in axis)
    if step.kind == FOLD:
        product = (
            None if rows or not sums_rows(step, out.size) else summed(step, [(given[0], True)], out)
        )
        if product is None and step.run is np.add:
            product = fold_into(given[0], axes, out, rows)
        if product is not None:
            return product
        return step.run.reduce, (given[0], axes, None, out, options["keepdims"])
    return partial(step.run, axis=axes, keepdims=options["keepdims"], out=out), tuple(given)


def _product(operands: Sequence[Operand], out: Any) -> Call:
    """Products of matrices: one, where rows of the first are all that differs."""
    (a, many), (b, others) = operands
    if many and not others and b.ndim == 2:
        flat = _flat(a, 1) if a.ndim > 2 else a
        into = _flat(out, 1) if a.ndim > 2 else out
        if flat is not None and into is not None:
            return np.matmul, (flat, b, into)
    one, two = a.ndim - many == 1, b.ndim - others == 1
    a = a[..., None, :] if one else a
    b = b[..., None] if two else b
    if one:
        out = out[..., None, :]
    if two:
        out = out[..., None]
    ndim = out.ndim
    given = [_raised(v, ndim) if has else v for v, has in ((a, many), (b, others))]
    return np.matmul, (*given, out)


def _flat(array: Any, kept: int) -> Any:
    """An array with all but its last axes as one; None where that is no view."""
    return _in_shape(array, (-1, *array.shape[array.ndim - kept :]))


def _in_shape(array: Any, shape: tuple[int, ...]) -> Any:
    return array.reshape(shape) if viewable(array, shape) else None


def _raised(array: Any, ndim: int) -> Any:
    """An array of rows with axes of size 1 behind the first, to have as many as the result."""
    return array.reshape(array.shape[0], *(1,) * (ndim - array.ndim), *array.shape[1:])


def sums_rows(step: Step, kept: int) -> bool:
    """Whether a sum of what a step makes over all rows may be had in one product. kept: elements of
    a result.
    """
    if step.kind == PRODUCT:
        return True
    axes = dict(step.options).get("axis")
    leading = axes is not None and axes == tuple(range(len(axes)))
    return step.kind == FOLD and step.run is np.add and leading and kept >= _WIDE


_WIDE = 16
"""Elements of a row from which on rows are added up fastest as a product with ones."""


def summed(step: Step, operands: Sequence[Operand], out: Any) -> Call | None:
    """The sum of a step's results over all rows, as one product; None where it can be none."""
    if not all(many for _, many in operands):
        return None
    if step.kind == FOLD:
        flat = _in_shape(operands[0][0], (-1, out.size))
        if flat is None:
            return None
        return np.matmul, (np.ones(len(flat), flat.dtype), flat, out.reshape(-1))
    a, b = (value for value, _ in operands)
    if not a.ndim == b.ndim == 3:
        return None
    first, second = _flat(a.transpose(0, 2, 1), 1), _flat(b, 1)
    if first is None or second is None:
        return None
    return np.matmul, (first.T, second, out)
