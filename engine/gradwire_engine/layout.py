"""How gradients lie in memory.

A leaf's lies as the leaf does, where that has no gaps, else row-major. So it is in torch, whatever
the walk gave: what is a view of a gradient, and what a copy, depends on the leaf alone, and who
updates a leaf by its gradient goes through both in one order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwire_engine.laid import laid
from gradwire_engine.ops.expand import contiguous_copy
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


def mirrored_as(made: Tensor, phantom: Any) -> Tensor:
    """A tensor on meta that nothing else sees yet, which lies as this phantom of its shape does."""
    made.storage.array = phantom
    return made.marked()


def in_rows(made: Any, given: Sequence[Any]) -> Any:
    """A result of a program in row-major order, as who doesn't see its ops takes it to lie.

    given: the program's arguments, which stay as they are. A view is copied, in the graph too.
    """
    if type(made) is not Tensor or not made.flags & TURNED or any(made is x for x in given):
        return made
    if made.view is None and not sees(made, given):
        made.storage.array = laid(made.array, None, made.spec)
        made.flags &= ~TURNED
        return made
    node, found = made.grad_fn, contiguous_copy(made)
    if node is not None:
        found.rename_node(node.name())
    return found


def sees(made: Any, given: Sequence[Any]) -> bool:
    """Whether a result shares the memory of an argument."""
    return type(made) is Tensor and any(
        type(x) is Tensor and x.storage is made.storage for x in given
    )
