"""Linear maps along one axis with few terms for each result: resizing, means of uneven parts."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.arrays import Array

FEW = 4
"""Up to so many terms they are added one by one; for more there is a sparse matrix."""


class Terms(NamedTuple):
    """Each result as a sum over a few elements: where they are, and what they are times."""

    places: np.ndarray  # (results, terms)
    weights: np.ndarray  # (results, terms) float64

    @property
    def exact(self) -> bool:
        """Whether each result is just one element."""
        return self.places.shape[1] == 1 and bool((self.weights == 1).all())


def mapped(xp: Any, x: Array, axis: int, terms: Terms) -> Array:
    """Each result along an axis: the sum of its terms, of which there are few."""
    places = [xp.asarray(np.ascontiguousarray(p)) for p in terms.places.T]
    if terms.exact:
        return xp.take(x, places[0], axis=axis)
    total: Any = None
    for place, weight in zip(places, _columns(xp, x, axis, terms), strict=True):
        part = xp.take(x, place, axis=axis)
        part *= weight
        if total is None:
            total = part
        else:
            total += part
    return total


def _columns(xp: Any, x: Array, axis: int, terms: Terms) -> list[Array]:
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    return [xp.asarray(w.astype(x.dtype)).reshape(shape) for w in terms.weights.T]


def repeats(terms: Terms, size: int) -> int:
    """How often each element comes, where that is all: as when an image is made twice as large."""
    results = len(terms.places)
    often = results // max(size, 1)
    if not terms.exact or often * size != results:
        return 0
    return often if (terms.places[:, 0] == np.arange(results) // max(often, 1)).all() else 0


def sums_of_repeats(g: Array, axis: int, often: int) -> Array:
    """The transposed of repeating each element: neighbours added up."""
    before = (slice(None),) * axis
    total = g[(*before, slice(0, None, often))].copy()
    for k in range(1, often):
        total += g[(*before, slice(k, None, often))]
    return total


def matrix(xp: Any, terms: Terms, size: int, dtype: np.dtype) -> Any:
    """The map as a matrix (results, size); dense where the array library has no sparse ones."""
    results = len(terms.places)
    sparse = getattr(xp, "sparse", None)
    if sparse is None:
        dense = np.zeros((results, size))
        np.add.at(dense, (np.arange(results)[:, None], terms.places), terms.weights)
        return xp.asarray(dense.astype(dtype))
    starts = np.arange(results + 1) * terms.places.shape[1]
    weights = terms.weights.astype(dtype).reshape(-1)
    parts = (xp.asarray(a) for a in (weights, terms.places.reshape(-1), starts))
    return sparse.csr_matrix(tuple(parts), shape=(results, size))


def multiplied(xp: Any, matrix: Any, x: Array, axis: int) -> Array:
    """A matrix times an array along an axis."""
    rows = xp.moveaxis(x, axis, 0)
    found = matrix @ rows.reshape(rows.shape[0], -1)
    return xp.moveaxis(found.reshape(found.shape[0], *rows.shape[1:]), 0, axis)


@lru_cache(maxsize=256)
def parts(size: int, found: int) -> Terms:
    """The means of so many parts of an axis, which overlap where they don't divide it."""
    starts = np.arange(found) * size // max(found, 1)
    ends = -(-(np.arange(found) + 1) * size // max(found, 1))
    lengths = ends - starts
    places = starts[:, None] + np.arange(lengths.max(initial=1))
    inside = places < ends[:, None]
    weights = inside / lengths[:, None]
    return Terms(np.where(inside, places, starts[:, None]), weights)
