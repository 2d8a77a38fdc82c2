"""What a call of an op gives, in Python's types, read from its declaration."""

from __future__ import annotations

from inspect import unwrap
from typing import NamedTuple

from gradwire.dispatch import TRUTHS
from gradwire_engine.op import Composite, Op, Primitive

Overload = Primitive | Composite


class Named(NamedTuple):
    """A named tuple of tensors: the class that stands in the stubs for an op's results."""

    name: str
    fields: tuple[str, ...]


def alternatives(op: Op, overload: Overload) -> list[str | Named]:
    """The types of a call's result; several where arguments decide, the usual one first."""
    if op.name in TRUTHS:
        return ["bool"]
    if isinstance(overload, Primitive):
        if overload.many:
            return ["tuple[Tensor, ...]"]
        if len(overload.outputs) > 1:
            return [_of_outputs(op, overload.outputs)]
    said = unwrap(overload.function).__annotations__.get("return", "")
    if said == "Any":
        if overload is op.overloads[0]:
            raise TypeError(f"{op.name}: say what it gives; Any says nothing")
        return alternatives(op, op.overloads[0])
    return [_of_annotation(op, overload, part) for part in said.split(" | ")]


def _of_outputs(op: Op, outputs: tuple[str, ...]) -> str | Named:
    """Results without a name of their own (out0, out1) come in what torch gives too: a tuple."""
    if outputs[0].startswith("out"):
        return f"tuple[{', '.join(['Tensor'] * len(outputs))}]"
    return Named(_class_name(op), outputs)


def _of_annotation(op: Op, overload: Overload, said: str) -> str | Named:
    meant = unwrap(overload.function).__globals__.get(said, said)
    if hasattr(meant, "_fields"):
        return Named(_class_name(op), meant._fields)
    text = {"Array": "Array", "Arrays": "tuple[Array, ...]"}.get(said)
    text = text or (meant if isinstance(meant, str) else str(meant).replace("typing.Any", "Array"))
    return text.replace("Array", "Tensor")


def _class_name(op: Op) -> str:
    """As in torch.return_types: linalg_eigh."""
    return op.name.replace(".", "_")
