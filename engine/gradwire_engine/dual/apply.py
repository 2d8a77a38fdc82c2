"""How an op applies to dual numbers: to the values, and the tangents pushed through.

Both run on values of lower levels, tensors at the bottom, so the tape records them as ever.
"""

from __future__ import annotations

from typing import Any

from gradwire_engine.apply import planned
from gradwire_engine.dual.tangents import pushed
from gradwire_engine.dual.value import Dual
from gradwire_engine.dual.width import spread
from gradwire_engine.op import APPLY, Primitive, value_level
from gradwire_engine.ops.cast import clone
from gradwire_engine.tensor import Tensor


def apply(op: Primitive, args: tuple[Any, ...]) -> Any:
    """Apply a primitive to operands of which the highest are Duals."""
    level = value_level(args, op.places)
    primals = list(args)
    tangents: list[Any] = []
    for place in op.places:
        given = args[place]
        if type(given) in (list, tuple):
            primals[place] = tuple(_split(item, level, tangents) for item in given)
            continue
        if op.view and type(given) is Dual and given.level == level and given.tangent is not None:
            spread(given)
        primals[place] = _split(given, level, tangents)
    result = op.dispatch(tuple(primals), {})
    outs = (result,) if type(result) in APPLY else tuple(result)
    if not op.differentiable or all(t is None for t in tangents):
        return result
    call, flat = planned(op, tuple(primals))
    moved = pushed(call, tuple(primals), flat, tangents, outs, level)
    duals = [
        out if t is None else Dual(out, _own(op, t, tangents), level)
        for out, t in zip(outs, moved, strict=True)
    ]
    return duals[0] if type(result) in APPLY else op.result(duals)


def _split(item: Any, level: int, tangents: list[Any]) -> Any:
    """What an operand is at a level, its tangent put among the others."""
    if type(item) is Dual and item.level == level:
        tangents.append(item.tangent)
        return item.primal
    tangents.append(None)
    return item


def _own(op: Primitive, tangent: Any, operands: list[Any]) -> Any:
    """A tangent that shares memory with an operand's only if the op is a view: it may be written.

    A rule that hands the tangent on as it is gives the same tensor, or a view of it.
    """
    if op.view:
        return tangent
    return clone(tangent) if any(_share(tangent, other) for other in operands) else tangent


def _share(a: Any, b: Any) -> bool:
    if type(a) is Tensor and type(b) is Tensor and a is not b:
        return a._storage is not None and a._storage is b._storage
    return a is b


APPLY[Dual] = apply
