"""A copy of a tensor with a part replaced: select_scatter, slice_scatter and their like."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import GradwireError
from gradwire_engine.families import composite
from gradwire_engine.mode import local
from gradwire_engine.ops.views import replaced
from gradwire_engine.signature import axis


def _axis(asked: str, dim: int, input: Any, src: Any) -> int:
    """An axis of the input; that a view may not be used any more is said before it has no such."""
    try:
        return axis(asked, dim, input.ndim)
    except GradwireError:
        if local.state.grad:
            _ = [getattr(value, "edge", None) for value in (input, src)]
        raise


@composite(real_gradients=True)
def select_scatter(input: Array, src: Array, dim: int, index: int) -> Array:
    """A copy with the slice at one index of an axis replaced by src."""
    return replaced(input, src, "select", (_axis("select_scatter", dim, input, src), index))


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
    place = _axis("slice_scatter", dim, input, src)
    return replaced(input, src, "slice", (place, start, end, step))


@composite()
def diagonal_scatter(
    input: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Array:
    """A copy with the diagonal of two axes replaced by src."""
    dims = (_axis("diagonal_scatter", d, input, src) for d in (dim1, dim2))
    return replaced(input, src, "diagonal", (offset, *dims))
