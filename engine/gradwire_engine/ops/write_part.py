"""A copy of a tensor with a part replaced: select_scatter, slice_scatter and their like."""

from __future__ import annotations

from gradwire_engine.arrays import Array
from gradwire_engine.families import composite
from gradwire_engine.ops.views import replaced
from gradwire_engine.signature import axis


@composite(real_gradients=True)
def select_scatter(input: Array, src: Array, dim: int, index: int) -> Array:
    """A copy with the slice at one index of an axis replaced by src."""
    return replaced(input, src, "select", (axis("select_scatter", dim, input.ndim), index))


@composite(real_gradients=True)
def slice_scatter(
    input: Array,
    src: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Array:
    """A copy with a slice of an axis replaced by src."""
    place = axis("slice_scatter", dim, input.ndim)
    return replaced(input, src, "slice", (place, start, end, step))


@composite()
def diagonal_scatter(
    input: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Array:
    """A copy with the diagonal of two axes replaced by src."""
    dims = (axis("diagonal_scatter", d, input.ndim) for d in (dim1, dim2))
    return replaced(input, src, "diagonal", (offset, *dims))
