"""Samples of every op, on which the tests of the registry run.

A module here has `SAMPLES`: from an op's name to a function of a random generator that gives calls,
`(args, kwargs)` with NumPy float64 arrays in the operands' places (and index or bool arrays where
only these go). Elementwise primitives need none: theirs are made from signature and domain.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.op import Primitive
from gradwire_engine.signature import REQUIRED
from gradwire_engine.spec import FLOAT

Call = tuple[tuple[Any, ...], dict[str, Any]]
Draw = Callable[[np.random.Generator], list[Call]]

SHAPES = ((2, 3), (3,), (2, 1), (1,))
"""Of the operands of an elementwise op, so that they broadcast."""


@cache
def declared() -> dict[str, Draw]:
    """All samples written down, by op."""
    found: dict[str, Draw] = {}
    for module in iter_modules(__path__):
        for name, draw in import_module(f"{__name__}.{module.name}").SAMPLES.items():
            if name in found:
                raise ValueError(f"samples of {name} stand in two modules")
            found[name] = draw
    return found


def samples_of(name: str) -> list[Call]:
    """The calls to try an op with; the same ones each time; empty if there are none."""
    rng = np.random.default_rng(sum(map(ord, name)))
    calls = [call for o in CATALOGUE[name].overloads for call in of_elementwise(o, rng)]
    if name in declared():
        calls += declared()[name](rng)
    return [(_arrays(args), _arrays(kwargs)) for args, kwargs in calls]


def _arrays(value: Any) -> Any:
    """A scalar that NumPy drew is an array without axes: an operand like others."""
    if isinstance(value, np.inexact):
        return np.asarray(value)
    if type(value) in (list, tuple):
        return type(value)(map(_arrays, value))
    if type(value) is dict:
        return {k: _arrays(v) for k, v in value.items()}
    return value


def of_elementwise(overload: Any, rng: np.random.Generator) -> list[Call]:
    """Operands drawn from the op's domain, if operands are all that it asks for."""
    if not isinstance(overload, Primitive) or not overload.takes:
        return []
    parameters = overload.signature.parameters
    operands = [p for p in parameters if p.kind == "tensor"]
    others = [p for p in parameters if p.default is REQUIRED and p.kind != "tensor"]
    if others or overload.name in ("where", "masked_fill"):
        return []
    draw = partial(_numbers, rng, overload)
    most, last = list(map(draw, SHAPES[: len(operands) - 1])), SHAPES[len(operands) - 1]
    return [((*most, draw(shape)), {}) for shape in (last, ())]


def _numbers(rng: np.random.Generator, overload: Primitive, shape: tuple[int, ...]) -> np.ndarray:
    if FLOAT not in overload.takes:
        return rng.integers(0, 7, shape)
    return rng.uniform(*overload.domain, shape)
