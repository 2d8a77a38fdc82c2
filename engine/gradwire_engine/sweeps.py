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

from gradwire_engine.row_blocks import BLOCK, each_block


def swept(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Run a kernel block by block where its operands are large NumPy arrays in row-major order.

    The last operand must have the result's shape and dtype. The kernel gets it with at least one
    axis, so that what is computed from it is an array to work on in place.
    """
    parameters = list(signature(kernel).parameters.values())[1:]
    names = [p.name for p in parameters]
    count = sum(p.annotation == "Array" for p in parameters)

    @wraps(kernel)
    def run(xp: Any, *args: Any, **attributes: Any) -> Any:
        operands = args[:count]
        if len(args) > count:
            attributes |= zip(names[count:], args[count:], strict=False)
        model = operands[-1]
        if not model.shape:
            return kernel(xp, *operands[:-1], model.reshape(1), **attributes).reshape(())
        if model.size < 2 * BLOCK or type(model) is not np.ndarray:
            return kernel(xp, *operands, **attributes)
        columns = [_column(x, model) for x in operands]
        if any(c is None for c in columns):
            return kernel(xp, *operands, **attributes)

        def work(out: Any, *blocks: Any) -> None:
            rest = iter(blocks)
            parts = [next(rest) if c.ndim else c for c in columns if c is not None]
            out[...] = kernel(xp, *parts, **attributes)

        out = np.empty(model.shape, model.dtype)
        each_block(work, out.reshape(-1, 1), *[c for c in columns if c is not None and c.ndim])
        return out

    return run


def _column(x: Any, model: np.ndarray) -> np.ndarray | None:
    """An operand as one column, a constant one without axes; None if it doesn't lie row-major."""
    if type(x) is not np.ndarray or x.shape != model.shape:
        return None
    if x.flags.c_contiguous:
        return x.reshape(-1, 1)
    return None if any(x.strides) else x[(0,) * x.ndim].reshape(())
