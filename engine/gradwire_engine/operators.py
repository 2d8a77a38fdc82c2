"""Python's operators on tensors, which derivative rules are written with."""

from __future__ import annotations

from typing import Any

from gradwire_engine import quick
from gradwire_engine.catalogue import CATALOGUE, resolve
from gradwire_engine.op import Primitive
from gradwire_engine.tensor import Tensor

OPERATORS = {
    "__add__": "add", "__sub__": "sub", "__mul__": "mul", "__truediv__": "div", "__pow__": "pow",
    "__matmul__": "matmul", "__mod__": "remainder", "__floordiv__": "floor_divide",
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor",
    "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift",
    "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
}  # fmt: skip
REFLECTED = {
    "__radd__": "add", "__rsub__": "sub", "__rmul__": "mul", "__rtruediv__": "div",
    "__rpow__": "pow", "__rmatmul__": "matmul", "__rmod__": "remainder",
    "__rfloordiv__": "floor_divide", "__rand__": "bitwise_and", "__ror__": "bitwise_or",
    "__rxor__": "bitwise_xor", "__rlshift__": "bitwise_left_shift",
    "__rrshift__": "bitwise_right_shift",
}  # fmt: skip
UNARY = {"__neg__": "neg", "__abs__": "abs", "__invert__": "bitwise_not", "__pos__": "positive"}
"""From Python's operator methods to ops."""


def _forward(name: str) -> Any:
    op = resolve(name)
    short = getattr(op.overloads[0], "short", None) if len(op.overloads) == 1 else None
    return short[1] if short else lambda self, other: op(self, other)


def _reflected(name: str) -> Any:
    op = resolve(name)
    return lambda self, other: op(other, self)


def _unary(name: str) -> Any:
    op = resolve(name)
    return lambda self: op(self)


def install() -> None:
    """Give ops their short way and tensors their operators, once the catalogue is filled."""
    for op in CATALOGUE.values():
        for overload in op.overloads:
            if isinstance(overload, Primitive):
                quick.install(overload)
    for table, make in ((OPERATORS, _forward), (REFLECTED, _reflected), (UNARY, _unary)):
        for method, name in table.items():
            setattr(Tensor, method, make(name))
    Tensor.__hash__ = object.__hash__  # type: ignore[assignment]
