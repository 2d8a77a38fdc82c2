"""How gradients lie in memory.

A leaf's lies as the leaf does, where that has no gaps, else row-major. So it is in torch, whatever
the walk gave: what is a view of a gradient, and what a copy, depends on the leaf alone, and who
updates a leaf by its gradient goes through both in one order.
"""

from __future__ import annotations

from gradwire_engine.laid import laid
from gradwire_engine.order import alone, dense, lying_of
from gradwire_engine.tensor import INFERENCE, TURNED, Tensor


def laid_as(made: Tensor, leaf: Tensor) -> Tensor:
    """A gradient that nothing else sees yet, with its elements in the order that the leaf has."""
    array, model = made.array, leaf.array
    if array.strides == model.strides or made.shape != leaf.shape:
        return made
    lies = lying_of(model)
    made._array = laid(array, alone(lies) if dense(lies) else None, made.spec)
    return made.marked()


def lying_like(made: Tensor, model: Tensor) -> Tensor:
    """The tensor, or a copy of it whose axes lie in the order that the model's do."""
    if made.shape != model.shape or not (made.flags | model.flags) & TURNED:
        return made
    array = laid(made.array, alone(lying_of(model.array)), made.spec)
    if array is made.array:
        return made
    found = Tensor(array, made.spec, None).marked()
    found.flags |= made.flags & INFERENCE
    return found
