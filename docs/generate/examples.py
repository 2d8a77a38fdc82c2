"""gradwire_engine/examples.json: for each op a call, what it gives, and the gradients, as text.

The calls come from the samples on which tests run the op. What stands left of an arrow is source
text (docs/source.md); a test runs all of it in a session.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from docs.generate.smallest import arrays_of, smallest, tried
from tests.engine.batches import visit
from tests.engine.samples import Call
from tests.engine.trial import Host, host, on

from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.spec import DType
from gradwire_engine.tensor import Tensor

OPERATORS = {
    "rtruediv": "/", "rmatmul": "@", "rpow": "**", "rmod": "%", "rfloordiv": "//",
    "rlshift": "<<", "rrshift": ">>",
}  # fmt: skip
"""Source text has these ops as operators, with their operands the other way round."""

PLAIN = {"f": "float32", "c": "complex64", "i": "int64", "b": "bool"}
"""The dtype that a literal has by itself, by NumPy's kind."""

LONG = 400
"""With more characters than this an example goes without gradients."""


class Name(str):
    """The name of a tensor, among attributes."""

    __slots__ = ()


def text() -> str:
    """The file."""
    return json.dumps({name: line(name) for name in sorted(CATALOGUE)}, indent=0) + "\n"


@cache
def line(name: str) -> str:
    """One op's example."""
    call = smallest(name)
    wide, real = tried(name, call), tried(name, call, wide=False)
    if wide is None or real is None:
        raise ValueError(f"{name}: its smallest sample does not run")
    exact = real if any(o.random for o in CATALOGUE[name].overloads) else wide
    named, names = _named(name, call)
    parts = [f"{n} = {_literal(a)}" for n, a in zip(names, arrays_of(call), strict=True)]
    shown = [_result(y, told) for y, told in zip(exact.outputs, real.outputs, strict=True)]
    gives = f"({', '.join(shown)}{',' * (len(shown) == 1)})" if exact.several else shown[0]
    parts.append(f"{_call(name, named)} -> {gives}")
    pairs = zip(names, exact.grads, strict=True)
    grads = [f"{n}.grad -> {_numbers(g)}" for n, g in pairs if g is not None]
    return "; ".join(parts if sum(map(len, parts + grads)) > LONG else parts + grads)


def _named(name: str, call: Call) -> tuple[Call, list[str]]:
    """The call with names for its arrays: the parameter's, or letters within a list."""
    letters = iter("abcdefghijkl")
    names: list[str] = []

    def entered(parameter: str | None) -> Any:
        def enter(_: Host) -> Name:
            names.append(parameter or next(letters))
            return Name(names[-1])

        return enter

    args, kwargs = call
    slots = _parameters(name, args, kwargs)
    found = [
        visit(value, entered(slot if isinstance(value, np.ndarray) else None))
        for slot, value in slots
    ]
    return (
        tuple(found[: len(args)]),
        dict(zip(kwargs, found[len(args) :], strict=True)),
    ), names


def _parameters(name: str, args: Any, kwargs: Any) -> Iterator[tuple[str, Any]]:
    """Each argument with its parameter's name; without one where it is among several tensors."""
    overload, _ = CATALOGUE[name].bind(*visit((args, kwargs), lambda array: on("cpu", array)))
    order = [p.name if p.kind == "tensor" else "" for p in overload.signature.parameters]
    yield from zip([*order, *[""] * len(args)], args, strict=False)
    yield from kwargs.items()


def _call(name: str, call: Call) -> str:
    args, kwargs = call
    last = name.strip("_")
    if name == "__getitem__":
        return f"{args[0]}[{_index(args[1])}]"
    if name == "__setitem__":
        return f"{args[0]}[{_index(args[1])}] = {_shown(args[2])}"
    if name.startswith("__"):
        return f"{_shown(args[1])} {OPERATORS[last]} {_shown(args[0])}"
    given = [*map(_shown, args), *(f"{k}={_shown(v)}" for k, v in kwargs.items())]
    return f"{name}({', '.join(given)})"


def _index(value: Any) -> str:
    if isinstance(value, slice):
        ends = ["" if n is None else str(n) for n in (value.start, value.stop, value.step)]
        return ":".join(ends if value.step is not None else ends[:2])
    if isinstance(value, tuple):
        return ", ".join(map(_index, value))
    return "..." if value is ... else _shown(value)


def _shown(value: Any) -> str:
    match value:
        case Name():
            return str(value)
        case DType():
            return repr(value.name)
        case list() | tuple():
            inner = ", ".join(map(_shown, value))
            comma = "," * (len(value) == 1)
            return f"[{inner}]" if isinstance(value, list) else f"({inner}{comma})"
        case float() if not np.isfinite(value):
            return _real(value)
        case np.generic():
            return _shown(value.item())
    return repr(value)


def _literal(array: Host) -> str:
    kind = array.dtype.kind
    plain = kind in "fc" or PLAIN.get(kind) == array.dtype.name
    dtype = "" if plain else f", dtype={array.dtype.name!r}"
    return f"tensor({_numbers(array)}{dtype})"


def _result(exact: Tensor | None, told: Tensor | None) -> str:
    """A result, with its dtype where that is not the one of such a literal."""
    if exact is None or told is None:
        return "None"
    array, dtype = host(exact), told.dtype
    if dtype.name in PLAIN.values() and PLAIN.get(array.dtype.kind, dtype.name) == dtype.name:
        return _numbers(array)
    return f"tensor({_numbers(array.astype(_readable(dtype)))}, dtype={dtype.name!r})"


def _readable(dtype: DType) -> Any:
    return np.float32 if dtype.half else dtype.numpy


def _numbers(array: Host) -> str:
    return _shown_number(array.tolist())


def _shown_number(value: Any) -> str:
    match value:
        case list():
            return f"[{', '.join(map(_shown_number, value))}]"
        case float():
            return _real(value)
        case complex():
            sign = "" if value.imag < 0 else "+"
            return f"{_real(value.real)}{sign}{_real(value.imag)}j"
    return repr(value)


def _real(value: float) -> str:
    """Four digits after the point, or four that count; never -0.0."""
    if not np.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return repr((round(value, 4) if abs(value) >= 1 else float(f"{value:.4g}")) + 0.0)
