"""Arrays of every dtype, layout and special value, from their bits up."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from gradwire_engine.spec import BOOL, COMPLEX, DTYPES, FLOAT, DType, real_of

Array = np.ndarray[Any, np.dtype[Any]]
EVERY_DTYPE = list(DTYPES.values())

# 0-d, empty in three ways, vector, 4-d
SHAPES = [(), (0,), (2, 0), (0, 3), (1,), (5,), (2, 3), (2, 1, 3, 2)]


def special_values(dtype: DType) -> Array:
    """NaN, infinities, both zeros, subnormals and extremes, as far as the dtype has them."""
    if dtype.category == BOOL:
        return np.array([False, True])
    if dtype.category < FLOAT:
        bounds = np.iinfo(dtype.numpy)
        return np.array([bounds.min, bounds.max, 0, 1, bounds.max - 1], dtype.numpy)
    if dtype.category == COMPLEX:
        parts = special_values(real_of(dtype))
        return np.array([complex(a, b) for a in parts for b in parts], dtype.numpy)
    bits = np.dtype(f"u{dtype.itemsize}")
    infinity = int(np.array(np.inf, dtype.numpy).view(bits))
    sign = 1 << (8 * dtype.itemsize - 1)
    positive = [0, 1, 2, infinity - 1, infinity, infinity + 1, infinity // 2, infinity // 2 + 1]
    return np.array(positive + [sign | pattern for pattern in positive], bits).view(dtype.numpy)


@st.composite
def arrays(draw: st.DrawFn, dtype: DType, shapes: list[tuple[int, ...]] = SHAPES) -> Array:
    """Any bits at all, or special values; contiguous, reversed, strided or transposed."""
    shape = draw(st.sampled_from(shapes))
    size = prod(shape)
    if draw(st.booleans()):
        values = special_values(dtype)
        picks = draw(st.lists(st.integers(0, len(values) - 1), min_size=size, max_size=size))
        flat = values[np.array(picks, np.intp)]
    else:
        raw = np.frombuffer(
            draw(st.binary(min_size=size * dtype.itemsize, max_size=size * dtype.itemsize)),
            np.uint8,
        )
        flat = (raw & 1 if dtype.category == BOOL else raw).view(dtype.numpy)
    return laid_out(flat.reshape(shape), draw(st.sampled_from(["C", "F", "strided", "reversed"])))


def laid_out(array: Array, layout: str) -> Array:
    """The same elements, lying in memory in another way."""
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "C" or array.ndim == 0:
        return array.copy()
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    view = wide[..., ::2] if layout == "strided" else wide[..., ::-2]
    view[...] = array
    return view


def bits(array: Array, one_nan: bool = False) -> tuple[Any, ...]:
    """Dtype, shape and every bit; with `one_nan` all NaNs count as the same."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if one_nan and flat.dtype.kind not in "biu":
        parts = flat.view(f"f{flat.itemsize // 2}") if flat.dtype.kind == "c" else flat.copy()
        with np.errstate(invalid="ignore"):  # bfloat16 signals where its NaN does
            flat = np.where(np.isnan(parts), np.array(np.nan, parts.dtype), parts)
    return array.dtype, array.shape, flat.tobytes()
