"""Discrete Fourier transforms over axes, by the array library's SciPy.

Many large ones go a few at a time, on every core: each then stays in the processor's cache until it
is done.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.kernels.row_blocks import SHARED, alone, share_out, threads

LARGE = 1 << 17
"""Elements from which on a transform is worth two threads: they cost some ten microseconds."""

PART = 1 << 16
"""Elements that are transformed at a time where there are many: they stay in the cache."""

WORTH = 1 << 13
"""Elements from which on half of a transform saved is worth some more passes."""


def _threads(array: Array) -> dict[str, int]:
    """What SciPy takes on the CPU and its twin on CUDA does not."""
    return {"workers": 2} if type(array) is np.ndarray and array.size >= LARGE else {}


def _in_parts(
    xp: Any, run: Callable[[Array], Array], array: Array, dims: tuple[int, ...], shape: Any, to: Any
) -> Array:
    """What a function over some axes gives, of this shape and dtype: a few of many at a time."""
    axes = min(dims, default=0)
    lead = prod(array.shape[:axes])
    if type(array) is not np.ndarray or lead < 2 or alone() or array.size < SHARED:
        return run(array)
    out = xp.empty(shape, to)
    ones = (1,) * (axes - 1)  # for dims to count the same
    given = array.reshape(*ones, lead, *array.shape[axes:])
    made = out.reshape(*ones, lead, *shape[axes:])
    step = max(1, PART * lead // array.size)
    share = -(-lead // threads())

    def work(start: int) -> None:
        for first in range(start, min(start + share, lead), step):
            some = (*(slice(None) for _ in ones), slice(first, min(first + step, start + share)))
            made[some] = run(given[some])

    share_out([partial(work, start) for start in range(0, lead, share)])
    return out


def transform(xp: Any, array: Array, dims: tuple[int, ...], norm: str, inverse: bool) -> Array:
    """All frequencies of real or complex numbers."""
    if not array.size:
        return xp.empty(array.shape, np.result_type(array.dtype, np.complex64))
    run = xp.scipy_fft.ifftn if inverse else xp.scipy_fft.fftn

    def some(part: Array) -> Array:
        found: Array = run(part, axes=dims, norm=norm, **_threads(part))
        return found

    if array.size < SHARED:
        return some(array)
    to = np.result_type(array.dtype, np.complex64)
    return _in_parts(xp, some, array, dims, array.shape, to)


def halved(xp: Any, array: Array, dims: tuple[int, ...], norm: str) -> Array:
    """The frequencies of real numbers, of the last dim those that are not conjugates of others."""
    if not array.size:
        shape = list(array.shape)
        shape[dims[-1]] = shape[dims[-1]] // 2 + 1
        return xp.empty(shape, xp.result_type(array.dtype, xp.complex64))
    return xp.scipy_fft.rfftn(array, axes=dims, norm=norm, **_threads(array))


def to_real(xp: Any, array: Array, dims: tuple[int, ...], norm: str, size: int) -> Array:
    """The real numbers whose halved frequencies these are, `size` of them along the last dim."""
    if not array.size:
        shape = list(array.shape)
        shape[dims[-1]] = size
        return xp.empty(shape, array.real.dtype)
    sizes = [*(array.shape[dim] for dim in dims[:-1]), size]
    return xp.scipy_fft.irfftn(array, s=sizes, axes=dims, norm=norm, **_threads(array))


def real_part_back(xp: Any, array: Array, dims: tuple[int, ...], norm: str) -> Array:
    """The real part of an inverse transform, by way of the frequencies that alone have one."""
    if array.size < WORTH or len(set(dims)) < len(dims):
        return transform(xp, array, dims, norm, True).real

    def some(part: Array) -> Array:
        return to_real(xp, _half_that_counts(part, dims), dims, norm, part.shape[dims[-1]])

    return _in_parts(xp, some, array, dims, array.shape, array.real.dtype)


def _half_that_counts(array: Array, dims: tuple[int, ...]) -> Array:
    """The means of each frequency and the conjugate of the opposite one, as many as tell all."""
    size = array.shape[dims[-1]]
    ways = []
    for dim in dims:
        count = array.shape[dim] if dim != dims[-1] else size // 2 + 1
        ways.append(((slice(0, 1), slice(0, 1)), (slice(1, count), slice(-1, -count, -1))))
    front = [slice(None)] * array.ndim
    front[dims[-1]] = slice(0, size // 2 + 1)
    half: Array = array[tuple(front)].copy()
    for way in product(*ways):
        to, source = [slice(None)] * array.ndim, [slice(None)] * array.ndim
        for dim, (here, there) in zip(dims, way, strict=True):
            to[dim], source[dim] = here, there
        half[tuple(to)] += array[tuple(source)].conj()
    half *= 0.5
    return half
