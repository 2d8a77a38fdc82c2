"""Constants of the source: folded, bounded, and written as JSON."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from gradwire_service.host.reply import plain
from gradwire_service.host.source.position import Text

MAX_STRING = 1_024
SMALLEST, LARGEST = -(2**63), 2**64 - 1

Number = int | float | complex
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf}
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_FOLDED: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def number(node: ast.expr, text: Text) -> Number | None:
    """The number that an expression of literals stands for, or None where it isn't one."""
    match node:
        case ast.Constant(value=int() | float() | complex() as value) if value is not True:
            return None if value is False else _bounded(value, node, text)
        case ast.Name(id=name) if name in _SPECIAL:
            return _SPECIAL[name]
        case ast.Attribute(value=ast.Name(id="torch"), attr="nan" | "inf" as name):
            return _FLOATS[name]
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(word))], keywords=[]):
            return _FLOATS.get(word)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            x = number(operand, text)
            return x if x is None or isinstance(sign, ast.UAdd) else -x
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _FOLDED:
            y = number(right, text)
            x = None if y is None else number(left, text)
            return None if x is None or y is None else _fold(node, x, y, text)
    return None


def _fold(node: ast.BinOp, x: Number, y: Number, text: Text) -> Number:
    if isinstance(node.op, ast.Pow) and abs(y) > 64 and isinstance(x, int) and isinstance(y, int):
        raise text.refuse(node, "a number out of range", "whole exponents go up to 64")
    try:
        value: Number = _FOLDED[type(node.op)](x, y)
    except (ArithmeticError, TypeError) as problem:
        raise text.refuse(node, f"arithmetic without a result ({problem})", "a number") from None
    return _bounded(value, node, text)


def _bounded(value: Number, node: ast.expr, text: Text) -> Number:
    if isinstance(value, int) and not SMALLEST <= value <= LARGEST:
        allowed = f"whole numbers from {SMALLEST} to {LARGEST}"
        raise text.refuse(node, "a number out of range", allowed)
    return value


def string(value: str, node: ast.expr, text: Text) -> str:
    """A string literal of bounded length."""
    if len(value) > MAX_STRING:
        allowed = f"strings of up to {MAX_STRING} characters"
        raise text.refuse(node, f"a string of {len(value)} characters", allowed)
    return value


def encoded(value: Number) -> int | float | str | dict[str, list[float | str]]:
    """A number in the JSON form of the wire contract."""
    if isinstance(value, complex):
        return {"complex": [plain(value.real), plain(value.imag)]}
    return value if isinstance(value, int) else plain(value)
