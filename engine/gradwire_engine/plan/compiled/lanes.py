"""Steps on a few elements at a time, as instructions. Whatever isn't here is a loop of NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradwire_engine.plan.compiled.text import Text, number, vector

BOOL = "i1"
KINDS: dict[np.dtype, str] = {
    np.dtype(np.float32): "float",
    np.dtype(np.float64): "double",
    np.dtype(np.bool_): BOOL,
}
"""What LLVM calls the dtypes that are compiled."""
DTYPES: dict[str, np.dtype] = {kind: dtype for dtype, kind in KINDS.items()}
_SHORT = {"float": "f32", "double": "f64"}

Instruction = Callable[[Text, str, int, Sequence[str]], str]
"""A step: text, kind of the operands, how many elements at a time, operands; the result's name."""


def spread(text: Text, kind: str, value: str, width: int) -> str:
    """The same value in each place."""
    if width == 1:
        return value
    whole = vector(kind, width)
    one = text.value(f"insertelement {whole} poison, {kind} {value}, i64 0")
    return text.value(
        f"shufflevector {whole} {one}, {whole} poison, <{width} x i32> zeroinitializer"
    )


def constant(kind: str, value: Any) -> str:
    """A number as a constant of this kind."""
    if kind == BOOL:
        return "true" if value else "false"
    return number(value)


def _instruction(name: str) -> Instruction:
    def step(text: Text, kind: str, width: int, given: Sequence[str]) -> str:
        return text.value(f"{name} {vector(kind, width)} {', '.join(given)}")

    return step


def _own(name: str) -> Instruction:
    def step(text: Text, kind: str, width: int, given: Sequence[str]) -> str:
        whole = vector(kind, width)
        full = f"llvm.{name}.{suffix(kind, width)}"
        arguments = ", ".join(f"{whole} {value}" for value in given)
        return text.intrinsic(whole, full, arguments, ", ".join([whole] * len(given)))

    return step


def suffix(kind: str, width: int) -> str:
    """What the name of one of LLVM's own functions ends with."""
    return _SHORT[kind] if width == 1 else f"v{width}{_SHORT[kind]}"


def _square(text: Text, kind: str, width: int, given: Sequence[str]) -> str:
    return text.value(f"fmul {vector(kind, width)} {given[0]}, {given[0]}")


def _reciprocal(text: Text, kind: str, width: int, given: Sequence[str]) -> str:
    one = spread(text, kind, number(1.0), width)
    return text.value(f"fdiv {vector(kind, width)} {one}, {given[0]}")


def _extreme(comparison: str) -> Instruction:
    """As x86's instruction, and NumPy on it: of two zeros the second; NaN where there is one."""

    def step(text: Text, kind: str, width: int, given: Sequence[str]) -> str:
        whole, mask, (a, b) = vector(kind, width), vector(BOOL, width), given
        more = text.value(f"fcmp {comparison} {whole} {a}, {b}")
        one = text.value(f"select {mask} {more}, {whole} {a}, {whole} {b}")
        lost = text.value(f"fcmp uno {whole} {a}, {a}")
        return text.value(f"select {mask} {lost}, {whole} {a}, {whole} {one}")

    return step


def _not(text: Text, kind: str, width: int, given: Sequence[str]) -> str:
    return text.value(f"xor {vector(kind, width)} {given[0]}, {spread(text, kind, 'true', width)}")


ADD = _instruction("fadd")
MULTIPLY = _instruction("fmul")
OF_NUMBERS: dict[Any, Instruction] = {
    np.add: ADD,
    np.subtract: _instruction("fsub"),
    np.multiply: MULTIPLY,
    np.divide: _instruction("fdiv"),
    np.negative: _instruction("fneg"),
    np.sqrt: _own("sqrt"),
    np.absolute: _own("fabs"),
    np.fabs: _own("fabs"),
    np.square: _square,
    np.reciprocal: _reciprocal,
    np.maximum: _extreme("ogt"),
    np.minimum: _extreme("olt"),
    np.copysign: _own("copysign"),
    np.less: _instruction("fcmp olt"),
    np.less_equal: _instruction("fcmp ole"),
    np.greater: _instruction("fcmp ogt"),
    np.greater_equal: _instruction("fcmp oge"),
    np.equal: _instruction("fcmp oeq"),
    np.not_equal: _instruction("fcmp une"),
}
OF_TRUTHS: dict[Any, Instruction] = {
    np.logical_and: _instruction("and"),
    np.bitwise_and: _instruction("and"),
    np.logical_or: _instruction("or"),
    np.bitwise_or: _instruction("or"),
    np.logical_xor: _instruction("xor"),
    np.bitwise_xor: _instruction("xor"),
    np.not_equal: _instruction("xor"),
    np.logical_not: _not,
    np.invert: _not,
}


def instruction(run: Any, kind: str) -> Instruction | None:
    """A ufunc as instructions, for operands of a kind; None where it isn't one of these."""
    return (OF_TRUTHS if kind == BOOL else OF_NUMBERS).get(run)


def cast(text: Text, before: str, after: str, width: int, value: str) -> str:
    """A value as another kind."""
    if before == after:
        return value
    if before == BOOL:
        said = "uitofp"
    elif after == BOOL:
        zero = spread(text, before, number(0.0), width)
        return text.value(f"fcmp une {vector(before, width)} {value}, {zero}")
    else:
        said = "fpext" if after == "double" else "fptrunc"
    return text.value(f"{said} {vector(before, width)} {value} to {vector(after, width)}")
