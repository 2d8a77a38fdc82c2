"""Forward mode: one walk that carries each value with its tangent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire_engine import nest
from gradwire_engine.dual.value import dual, unpacked
from gradwire_engine.levels import entered
from gradwire_engine.ops.cast import clone

Function = Callable[..., Any]


def push(
    function: Function, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, list[Any], list[Any]]:
    """What a function gives, as a nest, and its results with their tangents, in order.

    A tangent is None where a primal has none (None), or a result depends on none.
    """
    with entered() as level:
        duals = [
            x if t is None else dual(x, clone(t), level)
            for x, t in zip(primals, tangents, strict=True)
        ]
        result = function(*duals)
        pairs = [unpacked(y, level) for y in nest.leaves(result)]
    return result, [y for y, _ in pairs], [t for _, t in pairs]
