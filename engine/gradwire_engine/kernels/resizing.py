"""Where the elements of a resized axis lie on the old one, and of which elements they are made."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.kernels.axis_maps import (
    FEW,
    Terms,
    mapped,
    matrix,
    multiplied,
    parts,
    repeats,
    sums_of_repeats,
)

SHARPNESS, SHARPNESS_SMOOTHED = -0.75, -0.5
"""The free parameter of cubic convolution, plain and with antialiasing: torch's choices."""

BEYOND = 2**15
"""The first number that int16 does not hold."""


@lru_cache(maxsize=1024)
def terms_of(mode: str, size: int, found: int, corners: bool, scale: float | None) -> Terms:
    """The map of an axis for a mode of interpolation; scale: new elements for each old one."""
    if mode == "parts":
        return parts(size, found)
    step = _step(size, found, corners, scale)
    if mode in ("nearest", "nearest-exact"):
        return _nearest(size, found, step, 0.5 if mode == "nearest-exact" else 0.0)
    if mode.startswith("smooth"):
        return _smoothed(size, found, step, mode == "smooth cubic")
    at = np.arange(found) * step if corners else (np.arange(found) + 0.5) * step - 0.5
    if mode == "cubic":
        first = np.floor(at)
        near = np.arange(-1, 3)
        weights = cubic(at[:, None] - first[:, None] - near, SHARPNESS)
        return Terms(_within(first[:, None] + near, size), weights)
    at = np.maximum(at, 0.0)
    first = np.minimum(np.floor(at), size - 1)
    rest = np.minimum(at - first, 1.0)
    places = _within(first[:, None] + np.arange(2), size)
    return Terms(places, np.stack((1 - rest, rest), 1))


@lru_cache(maxsize=64)
def _matrix_of(
    xp: Any, mode: str, size: int, found: int, corners: bool, scale: float | None, dtype: str
) -> tuple[Any, Any]:
    """The map and its transposed as matrices."""
    made = matrix(xp, terms_of(mode, size, found, corners, scale), size, np.dtype(dtype))
    return made, made.T


def resized(
    xp: Any, x: Array, axis: int, found: int, mode: str, corners: bool, scale: float | None
) -> Array:
    """An axis brought to another size."""
    size = x.shape[axis]
    terms = terms_of(mode, size, found, corners, scale)
    if x.dtype == np.uint8 and not mode.startswith("nearest"):
        return _bytes_resized(xp, x, axis, *_whole_terms(mode, size, found, corners, scale))
    if terms.places.shape[1] <= FEW or x.dtype.kind != "f":
        return mapped(xp, x, axis, terms)
    made, _ = _matrix_of(xp, mode, size, found, corners, scale, x.dtype.str)
    return multiplied(xp, made, x, axis)


@lru_cache(maxsize=1024)
def _whole_terms(
    mode: str, size: int, found: int, corners: bool, scale: float | None
) -> tuple[Terms, int]:
    """The map in whole multiples of 1 / 2**bits, as many bits as int16 holds: torch's for bytes."""
    places, weights = terms_of(mode, size, found, corners, scale)
    if not mode.startswith("smooth"):  # at the borders a place comes twice, and is rounded once
        same = places[:, :, None] == places[:, None, :]
        first = same.argmax(2) == np.arange(places.shape[1])
        weights = np.where(first, (same * weights[:, None]).sum(2), 0.0)
    most = weights.max(initial=0.0)
    bits = next((n for n in range(22) if int(most * 2 ** (n + 1) + 0.5) >= BEYOND), 22)
    return Terms(places, np.trunc(weights * 2**bits + np.copysign(0.5, weights))), bits


def _bytes_resized(xp: Any, x: Array, axis: int, terms: Terms, bits: int) -> Array:
    """Sums of bytes times whole weights, exact in float64, rounded to bytes again."""
    exact = x.astype(np.float64)
    if terms.places.shape[1] <= FEW:
        sums = mapped(xp, exact, axis, terms)
    else:
        made = matrix(xp, terms, x.shape[axis], np.dtype(np.float64))
        sums = multiplied(xp, made, exact, axis)
    return xp.clip(xp.floor((sums + 2 ** (bits - 1)) / 2**bits), 0, 255).astype(np.uint8)


def resized_back(
    xp: Any, g: Array, axis: int, size: int, mode: str, corners: bool, scale: float | None
) -> Array:
    """The transposed map: each result's gradient added to its terms, times their weights."""
    found = g.shape[axis]
    often = repeats(terms_of(mode, size, found, corners, scale), size)
    if often:
        return sums_of_repeats(g, axis, often)
    _, turned = _matrix_of(xp, mode, size, found, corners, scale, g.dtype.str)
    return multiplied(xp, turned, g, axis)


def _within(places: np.ndarray, size: int) -> Array:
    return np.clip(places, 0, size - 1).astype(np.int64)


def _step(size: int, found: int, corners: bool, scale: float | None) -> float:
    """Old elements for each new one."""
    if corners:
        return (size - 1) / (found - 1) if found > 1 else 0.0
    return 1 / scale if scale else size / max(found, 1)


def _nearest(size: int, found: int, step: float, offset: float) -> Terms:
    # in float32, as torch finds these places, so that both cut between the same elements
    at = (np.arange(found, dtype=np.float32) + np.float32(offset)) * np.float32(step)
    return Terms(_within(np.floor(at), size)[:, None], np.ones((found, 1)))


def _smoothed(size: int, found: int, step: float, is_cubic: bool) -> Terms:
    """A filter as wide as what a new element stands for, so that nothing is left out."""
    wide = max(step, 1.0)
    half = (2.0 if is_cubic else 1.0) * wide
    center = step * (np.arange(found) + 0.5)
    first = np.maximum((center - half + 0.5).astype(np.int64), 0)
    last = np.minimum((center + half + 0.5).astype(np.int64), size)
    places = first[:, None] + np.arange(max((last - first).max(initial=1), 1))
    away = (places - center[:, None] + 0.5) / wide
    found_weights = (
        cubic(away, SHARPNESS_SMOOTHED) if is_cubic else np.maximum(0.0, 1 - np.abs(away))
    )
    weights = np.where(places < last[:, None], found_weights, 0.0)
    return Terms(_within(places, size), weights / weights.sum(1, keepdims=True))


def cubic(away: np.ndarray, a: float) -> np.ndarray:
    """The kernel of cubic convolution (Keys, 1981) at these distances from the element."""
    x = np.abs(away)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))
