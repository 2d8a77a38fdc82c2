"""What a graph takes, before it runs: operations, bytes moved, bytes held at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwire_engine.flops import operations
from gradwire_engine.plan.graph import Graph, Line, Repeated
from gradwire_engine.plan.uses import Uses
from gradwire_engine.promote import Weak
from gradwire_engine.spec import Spec


def work(graph: Graph) -> int:
    """Floating-point operations of one run."""
    return sum(map(flops, graph.lines))


def flops(line: Line) -> int:
    """Floating-point operations of one call, all steps of a loop together."""
    if isinstance(line.op, Repeated):
        return line.op.times * sum(map(work, line.op.graphs))
    return operations(line.op, operands(line), line.specs)


def moved(line: Line) -> int:
    """Bytes that one call reads and writes; a view neither reads nor writes."""
    if line.op.view:
        return 0
    return sum(spec.nbytes for spec in (*operands(line), *line.specs))


def operands(line: Line) -> list[Spec]:
    """The specs of a call's tensors."""
    return [
        spec
        for place in line.op.places
        for spec in _several(line.arguments[place])
        if isinstance(spec, Spec)
    ]


def _several(argument: Any) -> Sequence[Any]:
    single = argument is None or isinstance(argument, Spec | Weak)
    return (argument,) if single else argument


def peak(graph: Graph, inputs: Sequence[Spec]) -> int:
    """Bytes held at once at most: inputs and constants throughout, results until their last use.

    A view holds what it is a view of. inputs: their specs.
    """
    uses = Uses([[(x.operands, x.results, x.op.view)] for x in graph.lines], graph.outputs)
    sizes: dict[int, int] = {}
    held = sum(int(getattr(value, "nbytes", 0)) for value in graph.constants.values())
    held = most = held + sum(spec.nbytes for spec in inputs)
    for index, line in enumerate(graph.lines):
        if not line.op.view:
            sizes |= zip(line.results, [spec.nbytes for spec in line.specs], strict=True)
            held += line.nbytes
        most = max(most, held)
        held -= sum(sizes.pop(number, 0) for number in uses.ending(index))
    return most
