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
    """Each result along an axis: the sum of its terms."""
    places = [xp.asarray(np.ascontiguousarray(p)) for p in terms.places.T]
    if terms.exact:
        return xp.take(x, places[0], axis=axis)
    if len(places) > FEW and x.dtype.kind == "f":
        return _product(xp, x, axis, terms, len(terms.places), x.shape[axis], False)
    total: Any = None
    for place, weight in zip(places, _columns(xp, x, axis, terms), strict=True):
        part = xp.take(x, place, axis=axis)
        part *= weight
        if total is None:
            total = part
        else:
            total += part
    return total


def mapped_back(xp: Any, g: Array, axis: int, terms: Terms, size: int) -> Array:
    """The transposed map: each result's gradient added to its terms, times their weights."""
    return _product(xp, g, axis, terms, len(terms.places), size, True)


def _columns(xp: Any, x: Array, axis: int, terms: Terms) -> list[Array]:
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    return [xp.asarray(w.astype(x.dtype)).reshape(shape) for w in terms.weights.T]


def _product(
    xp: Any, x: Array, axis: int, terms: Terms, results: int, size: int, back: bool
) -> Array:
    """The map, or its transposed, as a product with a matrix."""
    rows = xp.moveaxis(x, axis, 0)
    flat = rows.reshape(rows.shape[0], -1)
    sparse = getattr(xp, "sparse", None)
    if sparse is None:
        dense = np.zeros((results, size))
        np.add.at(dense, (np.arange(results)[:, None], terms.places), terms.weights)
        matrix = xp.asarray(dense.astype(x.dtype))
    else:
        starts = np.arange(results + 1) * terms.places.shape[1]
        weights = terms.weights.astype(x.dtype).reshape(-1)
        parts = (xp.asarray(a) for a in (weights, terms.places.reshape(-1), starts))
        matrix = sparse.csr_matrix(tuple(parts), shape=(results, size))
    found = (matrix.T if back else matrix) @ flat
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
