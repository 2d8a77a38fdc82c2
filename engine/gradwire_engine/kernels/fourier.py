"""Discrete Fourier transforms over axes, by the array library's SciPy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gradwire_engine.arrays import Array

LARGE = 1 << 17
"""Elements from which on a transform is worth two threads: they cost some ten microseconds."""


WORTH = 1 << 13
"""Elements from which on half of a transform saved is worth some more passes."""


def _threads(array: Array) -> dict[str, int]:
    """What SciPy takes on the CPU and its twin on CUDA does not."""
    return {"workers": 2} if type(array) is np.ndarray and array.size >= LARGE else {}


def transform(xp: Any, array: Array, dims: tuple[int, ...], norm: str, inverse: bool) -> Array:
    """All frequencies of real or complex numbers."""
    if not array.size:
        return xp.empty(array.shape, xp.result_type(array.dtype, xp.complex64))
    run = xp.scipy_fft.ifftn if inverse else xp.scipy_fft.fftn
    return run(array, axes=dims, norm=norm, **_threads(array))


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
    """The real part of an inverse transform, by way of the frequencies that alone have one.

    Those are the mean of each frequency and the conjugate of the opposite one, of which half
    determine the rest.
    """
    if array.size < WORTH or len(set(dims)) < len(dims):
        return transform(xp, array, dims, norm, True).real
    size = array.shape[dims[-1]]
    ways = []
    for dim in dims:
        count = array.shape[dim] if dim != dims[-1] else size // 2 + 1
        ways.append(((slice(0, 1), slice(0, 1)), (slice(1, count), slice(-1, -count, -1))))
    front = [slice(None)] * array.ndim
    front[dims[-1]] = slice(0, size // 2 + 1)
    half = array[tuple(front)].copy()
    for way in product(*ways):
        to, source = [slice(None)] * array.ndim, [slice(None)] * array.ndim
        for dim, (here, there) in zip(dims, way, strict=True):
            to[dim], source[dim] = here, there
        half[tuple(to)] += array[tuple(source)].conj()
    half *= 0.5
    return to_real(xp, half, dims, norm, size)
