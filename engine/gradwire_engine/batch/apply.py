"""How an op applies to batched values: by its own batch rule, its family's, or one by one."""

from __future__ import annotations

from typing import Any

from gradwire_engine.batch.frame import Frame
from gradwire_engine.batch.one_by_one import one_by_one
from gradwire_engine.batch.rules import BatchRule, along, elementwise, folding
from gradwire_engine.batch.value import Batched, no_elements
from gradwire_engine.batch.views import of_view
from gradwire_engine.op import APPLY, Primitive, value_level

FAMILIES: dict[str, BatchRule] = {
    "elementwise": elementwise,
    "reduction": folding,
    "along": along("dim"),
    "view": of_view,
}
"""The rule of each family; an op's own goes first."""


def rule_of(op: Primitive) -> BatchRule:
    """The batch rule of an op."""
    return op.batch or FAMILIES.get(op.family, one_by_one)


def apply(op: Primitive, args: tuple[Any, ...]) -> Any:
    """Apply a primitive where a batched value is the outermost among the operands."""
    if op.data_dependent:
        raise no_elements(f"the shape of {op.name}'s result depends on elements")
    frame = Frame(op, args, value_level(args, op.places))
    result = rule_of(op)(frame)
    call = frame.call
    if call.single:
        return _wrapped(frame, result, call.outputs[0].shape)
    found = [_wrapped(frame, r, s.shape) for r, s in zip(result, call.outputs, strict=True)]
    return op.result(found)


def _wrapped(frame: Frame, result: Any, shape: tuple[int, ...]) -> Any:
    """A result of a rule, with its batch axis in front, as a value."""
    return Batched(frame.shaped(result, shape), frame.level)


APPLY[Batched] = apply
