"""What cupy.ndarray does by way of a function: methods of the same name, and the operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from tests.strict.catalogue import FUNCTIONS, UFUNCS
from tests.strict.host import SCALARS, is_device, to_device

_METHODS = (
    "swapaxes ravel squeeze take put repeat choose argsort argpartition searchsorted nonzero "
    "diagonal max argmax min argmin ptp trace sum cumsum mean var std prod cumprod all any sort dot"
)


class Forwarded:
    """A method that is a function with the array as its first argument."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def bound(self, array: object) -> Callable[..., Any]:
        """The function with its first argument given."""
        return partial(self._function, array)


def _clip(a: Any, min: Any = None, max: Any = None, out: Any = None) -> Any:
    return UFUNCS["clip"](a, min, max, out=out)


def _compress(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return FUNCTIONS["compress"](condition, a, axis, out)


FORWARDED = {name: Forwarded(FUNCTIONS[name]) for name in _METHODS.split()}
FORWARDED |= {
    "conj": Forwarded(UFUNCS["conj"]),
    "conjugate": Forwarded(UFUNCS["conj"]),
    "round": Forwarded(UFUNCS["round"]),
    "clip": Forwarded(_clip),
    "compress": Forwarded(_compress),
}

_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "divmod": "divmod",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "matmul": "matmul",
}
_COMPARISONS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
_UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}


def _known(other: object) -> bool:
    """Whether an operator takes this operand; a host array it takes in order to refuse it aloud."""
    return is_device(other) or isinstance(other, (*SCALARS, np.ndarray))


def _forward(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: function(self, other) if _known(other) else NotImplemented


def _reflected(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: function(other, self) if _known(other) else NotImplemented


def _in_place(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: function(self, other, out=self)


def _equality(function: Callable[..., Any], *, equal: bool) -> Callable[[Any, Any], Any]:
    """None, and what knows no comparison, equals no element."""

    def compare(self: Any, other: Any) -> Any:
        if _known(other):
            return function(self, other)
        return to_device(np.full(self.shape, not equal))

    return compare


def _operators() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    every = UFUNCS | {"matmul": FUNCTIONS["matmul"]}
    for name, target in _BINARY.items():
        found[f"__{name}__"] = _forward(every[target])
        found[f"__r{name}__"] = _reflected(every[target])
        if name not in ("divmod", "matmul"):
            found[f"__i{name}__"] = _in_place(every[target])
    found |= {f"__{name}__": _forward(UFUNCS[target]) for name, target in _COMPARISONS.items()}
    found["__eq__"] = _equality(UFUNCS["equal"], equal=True)
    found["__ne__"] = _equality(UFUNCS["not_equal"], equal=False)
    for name, target in _UNARY.items():
        found[f"__{name}__"] = _unary(UFUNCS[target])
    return found


def _unary(function: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda self: function(self)


OPERATORS = _operators()
