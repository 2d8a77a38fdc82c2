"""Passes: each takes a graph and gives one that does less for the same results."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire_engine.apply import run
from gradwire_engine.plan.graph import Graph, Line
from gradwire_engine.spec import COMPLEX

FOLDED = 2**14
"""Bytes of a result up to which it is worked out once and kept in the plan."""


def simplified(graph: Graph, device: str = "cpu") -> Graph:
    """All passes, each where the ones before leave most for it."""
    for one in (without_dead, lambda g: folded(g, device), shared, without_dead):
        graph = one(graph)
    return graph


def without_dead(graph: Graph) -> Graph:
    """Drop calls whose results nobody uses."""
    wanted = set(graph.outputs)
    kept: list[Line] = []
    for line in reversed(graph.lines):
        if wanted.isdisjoint(line.results):
            continue
        wanted.update(line.operands)
        kept.append(line)
    constants = {n: value for n, value in graph.constants.items() if n in wanted}
    return graph._replace(constants=constants, lines=tuple(reversed(kept)))


def folded(graph: Graph, device: str) -> Graph:
    """Work out calls on constants now, where their results are small."""
    constants, kept = dict(graph.constants), []
    for line in graph.lines:
        known = all(n in constants for n in line.operands)
        small = sum(spec.nbytes for spec in line.specs) <= FOLDED
        if not (known and small and _fold(line, constants, device)):
            kept.append(line)
    return graph._replace(constants=constants, lines=tuple(kept))


def _fold(line: Line, constants: dict[int, Any], device: str) -> bool:
    """Enter the results of a call among the constants; False if it fails: it will when it runs."""
    call = line.call(device)
    try:
        found = run(call, [constants[n] for n in line.operands])
    except Exception:
        return False
    constants.update(zip(line.results, (found,) if call.single else found, strict=True))
    return True


def _times_one(line: Line, constants: dict[int, Any]) -> int | None:
    """The operand that a line's result is: a real number times one. Cotangents begin as ones."""
    if line.op.name != "mul" or line.specs[0].dtype.category == COMPLEX:
        return None
    for place, one in enumerate(line.operands):
        value, spec = line.operands[1 - place], line.arguments[1 - place]
        known = constants.get(one)
        ones = isinstance(known, np.ndarray) and (known == 1).all()
        if ones and value not in constants and spec == line.specs[0]:
            return value
    return None


def shared(graph: Graph) -> Graph:
    """Do once what is called again with the same attributes on the same values, and leave out what
    changes nothing.
    """
    seen: dict[Any, Line] = {}
    names = _one_for_each_number(graph.constants)
    kept = []
    for line in graph.lines:
        line = line._replace(operands=tuple(names.get(n, n) for n in line.operands))
        same = _times_one(line, graph.constants)
        if same is not None:
            names[line.results[0]] = same
            continue
        first = seen.setdefault((line.op, line.operands, _identity(line.arguments)), line)
        if first is line:
            kept.append(line)
        else:
            names.update(zip(line.results, first.results, strict=True))
    outputs = tuple(names.get(n, n) for n in graph.outputs)
    return graph._replace(lines=tuple(kept), outputs=outputs)


def _one_for_each_number(constants: dict[int, Any]) -> dict[int, int]:
    """For each number (or None) among constants the first that is the same."""
    first: dict[Any, int] = {}
    plain = (n for n, v in constants.items() if not isinstance(v, np.ndarray))
    return {n: first.setdefault(_identity(constants[n]), n) for n in plain}


def _identity(value: Any) -> Any:
    """What tells values apart that compare equal: 1, 1.0 and True; 0.0 and -0.0."""
    if type(value) is tuple:
        return tuple(map(_identity, value))
    return type(value), value, repr(value) if type(value) in (float, complex) else None
