"""Work on large matrices in blocks of rows that stay in the processor's cache, on every core."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from math import prod

import numpy as np

from gradwire_engine.arrays import Array

BLOCK = 1 << 17
"""Elements in a block: with a temporary it fits the second-level cache."""

SHARED = 1 << 19
"""From this many elements on the blocks are shared out among threads."""


@cache
def _pool() -> tuple[int, ThreadPoolExecutor]:
    cores = min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
    return cores, ThreadPoolExecutor(max(1, cores - 1), thread_name_prefix="blocks")


def each_block(work: Callable[..., None], *matrices: Array) -> None:
    """Call `work` with matching blocks of rows of these matrices; at once on all on a GPU.

    The blocks are views: work writes its results into them. NumPy lets other threads run meanwhile.
    """
    height, width = matrices[0].shape
    step = max(1, BLOCK // max(1, width))
    if step >= height or type(matrices[0]) is not np.ndarray:
        work(*matrices)
        return
    if height * width < SHARED:
        _run(work, matrices, 0, height, step)
        return
    cores, pool = _pool()
    share = -(-height // cores)
    waiting = [
        pool.submit(copy_context().run, _run, work, matrices, start, start + share, step)
        for start in range(share, height, share)
    ]
    _run(work, matrices, 0, share, step)
    for future in waiting:
        future.result()


def _run(
    work: Callable[..., None], matrices: tuple[Array, ...], start: int, stop: int, step: int
) -> None:
    stop = min(stop, matrices[0].shape[0])
    for first in range(start, stop, step):
        work(*[m[first : min(first + step, stop)] for m in matrices])


def as_rows(array: Array, width: int) -> Array:
    """An array as a matrix with rows of this width; a view where it is row-major."""
    return array.reshape(prod(array.shape) // max(1, width), width)
