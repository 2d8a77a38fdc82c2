"""NumPy's elementwise functions on large arrays, a part of these on every core."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradwire_engine.kernels.row_blocks import LONG, alone, share_out, threads
from gradwire_engine.kernels.short_rows import beside

LARGE = 2 * LONG
"""Elements from which on a single call is shared out: more than a block of work that already is."""


def shared(function: np.ufunc) -> Callable[..., Any]:
    """The function, for calls that are known to be large."""
    return partial(spread_out, function)


def spread_out(function: np.ufunc, *operands: Any) -> Any:
    """A function's results, on all threads where there is one and its operands lie alike."""
    arrays = [x for x in operands if type(x) is np.ndarray and x.ndim]
    shape = arrays[0].shape if arrays else ()
    size = arrays[0].size if arrays else 0
    alike = all(a.shape == shape and (a.flags.c_contiguous or not any(a.strides)) for a in arrays)
    few = function.nout > 1 or size < LARGE or alone()
    if few or not alike:
        return function(*operands)
    kinds = [x.dtype if hasattr(x, "dtype") else type(x) for x in operands]
    out = np.empty(shape, function.resolve_dtypes((*kinds, None))[-1])
    rows = [_row(x) for x in (*operands, out)]
    step = -(-size // threads())
    parts = [
        [r[first : first + step] if getattr(r, "ndim", 0) else r for r in rows]
        for first in range(0, size, step)
    ]
    share_out([partial(function, *given, out=part) for *given, part in parts])
    return out


def _row(x: Any) -> Any:
    """An operand's elements one after the other; one that is the same everywhere without axes."""
    if type(x) is not np.ndarray or not x.ndim:
        return x
    return x.reshape(-1) if x.flags.c_contiguous else x[(0,) * x.ndim]


def product(a: Any, b: Any) -> Any:
    """a * b, for rules: on large arrays by all threads."""
    if type(a) is np.ndarray:
        size = a.size
        if size >= LARGE:
            return spread_out(np.multiply, a, b) if type(b) in _KNOWN else a * b
        if type(b) is np.ndarray and b.size < size:
            b = beside(a, b)
    return a * b


def total(a: Any, b: Any) -> Any:
    """a + b, in the same way."""
    if type(a) is np.ndarray and a.size >= LARGE:
        return spread_out(np.add, a, b) if type(b) in _KNOWN else a + b
    return a + b


_KNOWN = frozenset({np.ndarray, float, int})
