"""How a leaf's gradient lies in memory: as the leaf does, where that has no gaps, else row-major.

So it is in torch, whatever the walk gave: what is a view of a gradient, and what a copy, depends on
the leaf alone, and who updates a leaf by its gradient goes through both in one order.
"""

from __future__ import annotations

from gradwire_engine.laid import laid
from gradwire_engine.order import alone, dense, lying_of
from gradwire_engine.tensor import Tensor


def laid_as(made: Tensor, leaf: Tensor) -> Tensor:
    """A gradient that nothing else sees yet, with its elements in the order that the leaf has."""
    array, model = made.array, leaf.array
    if array.strides == model.strides or made.shape != leaf.shape:
        return made
    lies = lying_of(model)
    made._array = laid(array, alone(lies) if dense(lies) else None, made.spec)
    return made.marked()
