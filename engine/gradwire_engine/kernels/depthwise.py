"""Convolutions whose groups have one channel each, window place by window place.

There is no product of matrices in them to be fast by. Padded planes in a row are one long vector,
and each place of the window a shifted part of it: multiplied and added in one go, with what comes
out between the rows left aside. All this on a few planes at a time, which stay in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.kernels.windows import Sizes, padded

LIMIT = 1 << 18
"""Bytes of the padded planes that are worked on at a time."""


class Planes:
    """Padded planes (N, C, ...) as vectors: where a window's places lie, and its results."""

    def __init__(self, size: Sizes, kernel: Sizes, found: Sizes, how: Any) -> None:
        self.padding, self.stride = how.padding, how.stride
        self.size, self.found = size, found
        self.full = tuple(n + 2 * p for n, p in zip(size, how.padding, strict=True))
        steps = tuple(prod(self.full[i + 1 :]) for i in range(len(size)))
        self.shifts = [
            sum(k * d * step for k, d, step in zip(at, how.dilation, steps, strict=True))
            for at in product(*map(range, kernel))
        ]
        last = zip(found, how.stride, steps, strict=True)
        self.length = sum((n - 1) * s * step for n, s, step in last) + 1
        rows = zip(found, how.stride, strict=True)
        self.results = tuple(slice(0, (n - 1) * s + 1, s) for n, s in rows)

    def spread(self, xp: Any, x: Array) -> Array:
        """Planes of the input's size as vectors, padded."""
        plane = padded(xp, x, self.padding, self.padding)
        return plane.reshape(*x.shape[:2], prod(self.full))

    def strewn(self, xp: Any, y: Array) -> Array:
        """Results as vectors: each where its window begins, zeros between."""
        out = xp.zeros((*y.shape[:2], *self.full), y.dtype)
        out[(..., *self.results)] = y
        return out.reshape(*y.shape[:2], -1)[:, :, : self.length]

    def gathered(self, xp: Any, sums: Array) -> Array:
        """The inverse, of vectors as long as a plane: a view."""
        return sums.reshape(*sums.shape[:2], *self.full)[(..., *self.results)]

    def inside(self, vectors: Array) -> Array:
        """Of padded planes as vectors what isn't padding: a view."""
        planes = vectors.reshape(*vectors.shape[:2], *self.full)
        both = zip(self.size, self.padding, strict=True)
        return planes[(..., *(slice(p, p + n) for n, p in both))]

    def blocks(self, x: Array) -> Iterator[tuple[slice, slice]]:
        """Samples and channels that are worked on together."""
        each = prod(self.full) * x.itemsize
        channels = max(1, min(x.shape[1], LIMIT // max(1, each)))
        samples = max(1, LIMIT // max(1, each * channels))
        for n in range(0, x.shape[0], samples):
            for c in range(0, x.shape[1], channels):
                yield (
                    slice(n, min(n + samples, x.shape[0])),
                    slice(c, min(c + channels, x.shape[1])),
                )


def suits(weight: Sizes, found: Sizes, how: Any) -> bool:
    """Whether groups have one channel on each side, and little is computed in vain.

    weight: its shape; found: how many windows there are.
    """
    alone = weight[1] == 1 and weight[0] == how.groups > 1
    return alone and prod(how.stride) <= 4 and prod(found) > 0


def results(xp: Any, x: Array, weight: Array, found: Sizes, how: Any) -> Array:
    """Each channel's windows times its own weight, summed."""
    at = Planes(x.shape[2:], weight.shape[2:], found, how)
    factors = weight.reshape(weight.shape[0], -1)
    out = xp.empty((*x.shape[:2], *found), x.dtype)
    for samples, channels in at.blocks(x):
        vectors = at.spread(xp, x[samples, channels])
        sums = xp.zeros(vectors.shape, x.dtype)
        total = sums[:, :, : at.length]
        term = xp.empty_like(total)
        for k, shift in enumerate(at.shifts):
            part = vectors[:, :, shift : shift + at.length]
            total += xp.multiply(part, factors[channels, k : k + 1], out=term)
        out[samples, channels] = at.gathered(xp, sums)
    return out


def images(xp: Any, y: Array, weight: Array, size: Sizes, how: Any) -> Array:
    """Each channel's results times its own weight, added where their windows lie."""
    at = Planes(size, weight.shape[2:], y.shape[2:], how)
    factors = weight.reshape(weight.shape[0], -1)
    out = xp.empty((*y.shape[:2], *size), y.dtype)
    for samples, channels in at.blocks(y):
        vectors = at.strewn(xp, y[samples, channels])
        sums = xp.zeros((*vectors.shape[:2], prod(at.full)), y.dtype)
        term = xp.empty_like(vectors)
        for k, shift in enumerate(at.shifts):
            part = sums[:, :, shift : shift + at.length]
            part += xp.multiply(vectors, factors[channels, k : k + 1], out=term)
        out[samples, channels] = at.inside(sums)
    return out


def weights(xp: Any, x: Array, y: Array, kernel: Sizes, how: Any) -> Array:
    """For each channel and place in the window the sum of results times what lies there."""
    at = Planes(x.shape[2:], kernel, y.shape[2:], how)
    out = xp.zeros((x.shape[1], len(at.shifts)), x.dtype)
    for samples, channels in at.blocks(x):
        vectors = at.spread(xp, x[samples, channels])
        cotangents = at.strewn(xp, y[samples, channels])
        for k, shift in enumerate(at.shifts):
            part = vectors[:, :, shift : shift + at.length]
            out[channels, k] += xp.einsum("ncl,ncl->c", part, cotangents)
    return out.reshape(x.shape[1], 1, *kernel)
