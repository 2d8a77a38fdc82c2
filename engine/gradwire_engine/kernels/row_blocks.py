"""Work on large matrices in blocks of rows that stay in the processor's cache, on every core."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.kernels.cores import cores
from gradwire_engine.mode import local

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from gradwire_engine.long_calls import Watch

BLOCK = 1 << 17
"""Elements in a block: with a temporary it fits the second-level cache."""

SMALL = 1 << 16
"""Elements up to which a block is worked on as it is: smaller buffers cost more than they save."""

SHARED = 1 << 19
"""From this many elements on the blocks are shared out among threads."""

MANY = 8
"""Passes over a block from which on it pays that it stays in the cache, whoever waits."""

LONG = 1 << 19
"""Elements in a block of a thread that makes few passes over it. Between two NumPy calls a thread
needs Python's lock, and a wait for it costs more than a short call: fewer, longer calls then."""

BUFFER = 256
"""Elements in NumPy's buffers meanwhile: rows longer than that meet a column without being copied
into a buffer first, which takes twice as long as the arithmetic."""


@cache
def threads() -> int:
    """At most 4, the cores of this process, and what limits the thread pools of libraries."""
    found = cores()
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(4, found, int(limit) if limit.isdecimal() else found))


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # most programs share nothing out

    return ThreadPoolExecutor(threads() - 1, thread_name_prefix="blocks")


if hasattr(os, "register_at_fork"):  # a forked child has none of its parent's threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


def each_block(work: Callable[..., None], *matrices: Array, passes: int = 5) -> None:
    """Call `work` with matching blocks of rows of these matrices; at once on all on a GPU.

    The blocks are views: work writes its results into them. NumPy lets other threads run meanwhile.
    passes: about how often work goes over a block.
    """
    height, width = matrices[0].shape
    if not width:  # how many rows without elements there are shows in other matrices only
        work(*[m[:0] for m in matrices])
        return
    if height * width < SMALL or type(matrices[0]) is not np.ndarray:
        work(*matrices)
        return
    step = max(1, BLOCK // width)
    if height * width < SHARED or alone():
        _run(work, matrices, 0, height, step)
    else:
        _shared_out(work, matrices, step if passes > MANY else max(1, LONG // width))


_inside = ContextVar("_inside", default=False)


def alone() -> bool:
    """Whether there is one thread, or this one does a share already: then it does all itself."""
    return _inside.get() or threads() == 1


def share_out(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run each on a thread of its own, the first on this one, or all on this; what they return."""
    if len(works) == 1 or alone():
        return [work() for work in works]
    waiting: list[Future[Any]] = []
    watch = local.state.watch
    try:
        for work in works[1:]:
            waiting.append(_pool().submit(copy_context().run, _share, work, watch))  # noqa: PERF401
        first = copy_context().run(_share, works[0], watch)
        return [first, *[future.result() for future in waiting]]
    except BaseException:  # also an interrupt: nobody writes any more into what is given up
        for future in waiting:
            future.exception()
        raise


def _share(work: Callable[[], Any], watch: Watch | None) -> Any:
    """Do a share, whose time is watched as that of the thread which shares it out."""
    _inside.set(True)
    state = local.state
    before, state.watch = state.watch, watch
    try:
        return work()
    finally:
        state.watch = before


def _shared_out(work: Callable[..., None], matrices: tuple[Array, ...], step: int) -> None:
    height = matrices[0].shape[0]
    share = -(-height // threads())
    share_out(
        [
            partial(_run, work, matrices, start, start + share, step)
            for start in range(0, height, share)
        ]
    )


def _run(
    work: Callable[..., None], matrices: tuple[Array, ...], start: int, stop: int, step: int
) -> None:
    height, width = matrices[0].shape
    stop = min(stop, height)
    if width < BUFFER or (stop - start) * width < 1 << 13:
        _each(work, matrices, start, stop, step)
        return
    before = np.setbufsize(BUFFER)
    try:
        _each(work, matrices, start, stop, step)
    finally:
        np.setbufsize(before)


def _each(
    work: Callable[..., None], matrices: tuple[Array, ...], start: int, stop: int, step: int
) -> None:
    for first in range(start, stop, step):
        work(*[m[first : min(first + step, stop)] for m in matrices])


def as_rows(array: Array, width: int) -> Array:
    """An array as a matrix with rows of this width; a view where it is row-major."""
    if array.ndim == 2 and array.shape[1] == width:
        return array
    return array.reshape(prod(array.shape) // max(1, width), width)
