"""Products for many samples: a share of these on every core, with one thread for each product.

A product of a few hundred rows is over before a second thread has woken up; and what is done
around it, as copying windows into columns, is then done on every core too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.kernels.blas_threads import of_products
from gradwire_engine.kernels.row_blocks import alone, share_out, threads

WORTH = 1 << 23
"""Multiplications from which on work is shared out."""

LARGEST = 1 << 26
"""Multiplications of one product from which on BLAS shares it out as well as can be."""


def by_samples(work: Callable[..., Any], times: int, *arrays: Array) -> list[Any]:
    """Call `work` with shares of these arrays, along whose first axis samples lie; what it gives.

    times: how many multiplications that is for all.
    """
    samples = arrays[0].shape[0]
    pool = of_products() if times >= WORTH and samples > 1 and not alone() else None
    if pool is None or type(arrays[0]) is not np.ndarray:
        return [work(*arrays)]
    step = -(-samples // threads())
    shares = [slice(first, first + step) for first in range(0, samples, step)]
    with pool.alone():
        return share_out([partial(work, *[array[s] for array in arrays]) for s in shares])


def products(xp: Any, a: Array, b: Array, out: Array | None = None) -> Array:
    """a @ b, of stacks that are alike; written into `out`, of the product's shape, if given."""
    if type(a) is not np.ndarray or a.ndim < 3 or a.shape[:-2] != b.shape[:-2]:
        found: Array = xp.matmul(a, b) if out is None else xp.matmul(a, b, out=out)
        return found
    each = a.shape[-2] * a.shape[-1] * b.shape[-1]
    times = a.size * b.shape[-1]
    if times < WORTH or each > LARGEST or a.shape[0] < 2:
        return np.asarray(np.matmul(a, b, out=out))
    if out is None:
        out = np.empty((*a.shape[:-1], b.shape[-1]), np.result_type(a, b))
    by_samples(lambda x, y, to: np.matmul(x, y, out=to), times, a, b, out)
    return out
