"""Python's operators on values: each op that has an operator's name among its own becomes it."""

from __future__ import annotations

from typing import Any

from gradwire_engine import prepared, quick
from gradwire_engine.catalogue import ALIASES, CATALOGUE, resolve
from gradwire_engine.op import APPLY, PRIMITIVES, Op, Primitive

ITEMS = ("__getitem__", "__setitem__")
"""Dunder names that aren't operators: an index isn't an operand."""


def _method(op: Op) -> Any:
    """The op's short way where its first overload has one, which takes any two operands."""
    short = getattr(op.overloads[0], "short", None)
    return short[1] if short else lambda *operands: op(*operands)


def install() -> None:
    """Give ops their short way and values their operators, once the catalogue is filled."""
    for op in CATALOGUE.values():
        for overload in op.overloads:
            if isinstance(overload, Primitive):
                quick.install(overload)
    for primitives in PRIMITIVES.values():  # those that only other ops use among them
        for primitive in primitives:
            quick.install_middle(primitive)
    for op in CATALOGUE.values():
        prepared.install(op)
    for kind in APPLY:
        give_operators(kind)


def give_operators(kind: type) -> None:
    """Let values of this type be written with Python's operators."""
    for name in (*CATALOGUE, *ALIASES):
        if name.startswith("__") and name not in ITEMS:
            setattr(kind, name, _method(resolve(name)))
    kind.__hash__ = object.__hash__  # type: ignore[assignment, method-assign]
