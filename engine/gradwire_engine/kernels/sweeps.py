"""Elementwise kernels of several passes, swept over blocks that stay in the processor's cache.

What such a kernel leaves between its passes then never travels to memory: the whole costs little
more than one pass.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np

from gradwire_engine.kernels.row_blocks import BLOCK, MANY, each_block
from gradwire_engine.kernels.select import NUMBERS

LARGE = 2 * BLOCK
"""Elements from which on an array is swept."""


def swept(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Run a kernel block by block where its operands are large NumPy arrays in row-major order.

    Those with axes must have the result's shape and, but for masks, its dtype. The kernel always
    gets one with an axis at least, so that what it computes is an array to work on in place.
    """
    parameters = list(signature(kernel).parameters.values())[1:]
    names = [p.name for p in parameters]
    count = sum(p.annotation == "Array" for p in parameters)
    backward = names[0] == "grad_output"

    @wraps(kernel)
    def run(xp: Any, *args: Any, **attributes: Any) -> Any:
        first = args[0]
        if count == 1 and type(first) is np.ndarray and first.ndim and first.size < LARGE:
            return kernel(xp, *args, **attributes)
        ndim = size = 0
        for x in args[:count]:
            if type(x) not in NUMBERS and x.ndim >= ndim:
                ndim, size = x.ndim, x.size
        if backward and ndim:  # many cotangents of what may be a scalar, which is worked on
            args = (args[0], *[x.reshape(1) if _scalar(x) else x for x in args[1:]])
        if ndim and size < LARGE:
            return kernel(xp, *args, **attributes)
        attributes |= zip(names[count:], args[count:], strict=False)
        return (_by_blocks if ndim else _on_one)(kernel, xp, args[:count], attributes)

    return run


def _scalar(x: Any) -> bool:
    return getattr(x, "ndim", 1) == 0 and not isinstance(x, np.generic)


def multiplied(xp: Any, out: Any, factor: Any) -> Any:
    """out times a factor: in place, unless the factor is the one with more rows."""
    if getattr(factor, "shape", ()) in ((), out.shape):
        out *= factor
        return out
    return xp.multiply(out, factor)


def _by_blocks(
    kernel: Callable[..., Any], xp: Any, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> Any:
    """The kernel on block after block, or at once on operands that don't lie alike."""
    arrays = [x for x in operands if type(x) not in NUMBERS]
    shape = max((a.shape for a in arrays), key=len)
    columns = [_column(x, shape) for x in operands]
    dtypes = {a.dtype for a in arrays if a.dtype != bool}
    if any(c is None for c in columns) or len(dtypes) != 1:
        return kernel(xp, *operands, **attributes)

    def work(out: Any, *blocks: Any) -> None:
        rest = iter(blocks)
        parts = [next(rest) if np.ndim(c) else c for c in columns]
        out[...] = kernel(xp, *parts, **attributes)

    out = np.empty(shape, dtypes.pop())
    each_block(work, out.reshape(-1, 1), *[c for c in columns if np.ndim(c)], passes=MANY + 1)
    return out


def _on_one(
    kernel: Callable[..., Any], xp: Any, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> Any:
    """Operands without axes: the last array among them gets one, and the result loses it."""
    given = list(operands)
    last = max(i for i, x in enumerate(given) if hasattr(x, "reshape"))
    given[last] = given[last].reshape(1)
    return kernel(xp, *given, **attributes).reshape(())


def _column(x: Any, shape: tuple[int, ...]) -> Any:
    """An operand as one column, a constant one without axes; None if it doesn't lie row-major."""
    if type(x) in NUMBERS or not x.shape:
        return x
    if type(x) is not np.ndarray or x.shape != shape:
        return None
    if x.flags.c_contiguous:
        return x.reshape(-1, 1)
    return None if any(x.strides) else x[(0,) * x.ndim].reshape(())
