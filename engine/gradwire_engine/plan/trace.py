"""Tracing: a function of tensors runs once on symbols, and what it calls is written down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire_engine.arrays import phantom_of
from gradwire_engine.mode import using
from gradwire_engine.plan.graph import Graph, Line
from gradwire_engine.spec import Spec
from gradwire_engine.symbol import SYMBOLIC, Symbol, Trace, UntraceableError
from gradwire_engine.tensor import Tensor


def trace(
    function: Callable[..., Sequence[Tensor]],
    specs: Sequence[Spec],
    *,
    draws: bool = False,
    loops: dict[Any, Any] | None = None,
) -> Graph:
    """The graph of a function for inputs of these specs; their device doesn't matter.

    The function may do whatever ops, walks back and transforms do. Raises UntraceableError, or what
    the function raises, where that takes elements, draws random numbers or runs a trace itself.
    draws: write random calls down too, in a graph that is to be looked at and not to be run. loops:
    the same of loops; what is known of their bodies, which is added to.
    """
    with Trace(draws=draws, loops=loops) as found, using(device=SYMBOLIC):
        inputs = [
            Tensor(found.symbol(phantom_of(spec)), spec._replace(device=SYMBOLIC), None)
            for spec in specs
        ]
        places = tuple(map(_place, inputs))  # before the function may write to them
        outputs = tuple(map(_place, function(*inputs)))
    lines = tuple(
        Line(e.call.op, e.call.arguments, e.operands, e.results, e.call.outputs)
        for e in found.entries
    )
    return Graph(places, found.constants, lines, outputs, tuple(specs))


def _place(result: Tensor) -> int:
    array = result.array
    if type(array) is not Symbol:
        raise UntraceableError("a result was made elsewhere")
    return array.place
