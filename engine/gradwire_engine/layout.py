"""How a leaf's gradient lies in memory: as the leaf does, where that has no gaps, else row-major.

So it is in torch, whatever the walk gave: what is a view of a gradient, and what a copy, depends on
the leaf alone, and who updates a leaf by its gradient goes through both in one order.
"""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import backend, phantom_like, phantom_of
from gradwire_engine.overlap import dense
from gradwire_engine.symbol import SYMBOLIC
from gradwire_engine.tensor import Tensor


def laid_as(made: Tensor, leaf: Tensor) -> Tensor:
    """A gradient that nothing else sees yet, with its elements in the order that the leaf has."""
    array, model = made.array, leaf.array
    if array.strides == model.strides or made.shape != leaf.shape:
        return made
    wanted = _strides(model)
    if any(n > 1 and a != b for n, a, b in zip(made.shape, array.strides, wanted, strict=True)):
        made._array = _laid(array, made, model)
    return made


def _strides(model: Any) -> tuple[int, ...]:
    """Bytes from one element to the next, an axis each, as a gradient has to have them."""
    found: tuple[int, ...] = model.strides
    if dense(model):
        return found
    rising = [model.itemsize]
    for size in reversed(model.shape[1:]):
        rising.append(rising[-1] * max(size, 1))
    return tuple(reversed(rising))


def _laid(array: Any, made: Tensor, model: Any) -> Any:
    """A copy of the elements in the wanted order."""
    device = made.spec.device
    if device == SYMBOLIC:
        return array  # its order is the trace's affair
    if device == "meta":
        return phantom_like(made.spec, [model]) if dense(model) else phantom_of(made.spec)
    xp = backend(device).xp
    found = xp.empty_like(model) if dense(model) else xp.empty(made.shape, array.dtype)
    found[...] = array
    return found
