"""Loops in a trace that is only looked at: a line each, which holds the graph of a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gradwire_engine.control.known import Clock, apart, need_values
from gradwire_engine.control.rounds import Loop
from gradwire_engine.mode import local
from gradwire_engine.plan import Graph, trace
from gradwire_engine.plan.graph import Repeated
from gradwire_engine.spec import Spec
from gradwire_engine.symbol import SYMBOLIC, aside, running, takes_loops
from gradwire_engine.tape import Program
from gradwire_engine.tensor import Tensor

Traced = tuple[Graph, list[Spec]]


class _Line(NamedTuple):
    """What a trace is told of a loop."""

    op: Repeated
    outputs: tuple[Spec, ...]
    arguments: tuple[()] = ()


def outlining(values: Sequence[Any]) -> bool:
    """Whether what is asked for on these values is to be written down as one line."""
    return takes_loops() and any(value.spec.device == SYMBOLIC for value in values)


def outlined(
    loop: Loop, values: Sequence[Any], times: int, keep: bool, asked: Program | None = None
) -> tuple[list[Tensor], list[Tensor]]:
    """What a loop gives, and the carries that it kept, as Rounds has them; nothing is run.

    asked: a condition that is looked at before each step.
    """
    specs = [row.spec._replace(device="cpu") for row in loop.rows(values)]
    graph, made = graph_of(loop.body, specs)
    loop.check(specs, made)
    graphs = [graph] if asked is None else [graph_of(asked, specs)[0], graph]
    carries = specs[: loop.carries]
    kept = [_rows(spec, times) for spec in carries] if keep else []
    found = [*made[: loop.carries], *[_rows(spec, times) for spec in made[loop.carries :]]]
    names, results = loop.names(len(values)), loop.results(len(made))
    what = Repeated(loop.asked, times, tuple(graphs), tuple(names), tuple(results))
    line = _Line(what, (*found, *kept))
    symbols = running().entered(line, [value.array for value in values])
    tensors = [
        Tensor(symbol, spec._replace(device=SYMBOLIC), None)
        for symbol, spec in zip(symbols, line.outputs, strict=True)
    ]
    return tensors[: len(found)], tensors[len(found) :]


def graph_of(body: Program, specs: Sequence[Spec]) -> Traced:
    """The graph of one step, and what it gives; looked at once in a trace."""
    loops = running().loops
    assert loops is not None
    key = body, tuple(specs), local.state.default_dtype
    if key not in loops:
        loops[key] = _graph_of(body, specs, loops)
    found: Traced = loops[key]
    return found


def _graph_of(body: Program, specs: Sequence[Spec], loops: dict[Any, Any]) -> Traced:
    outputs: list[Spec] = []

    def function(*inputs: Tensor) -> Sequence[Tensor]:
        found = need_values(body(*inputs))
        outputs[:] = [y.spec._replace(device="cpu") for y in found]
        return found

    with aside(), apart(Clock(local.state.meter)):
        return trace(function, specs, draws=True, loops=loops), outputs


def _rows(spec: Spec, times: int) -> Spec:
    return spec.with_(shape=(times, *spec.shape))
