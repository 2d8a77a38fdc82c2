"""The nodes that a walk will come to, in its order: found in the mirrors before it is done."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from gradwire_engine.tape import AccumulateGrad, Node, target


def reached(roots: Sequence[Any], wanted: Sequence[Any] | None) -> list[Node | AccumulateGrad]:
    """Newest first, leaves at the end; with `wanted` only what leads to one of these, and they.

    roots, wanted: mirrors, or gradient edges.
    """
    nodes, leaves = _all_below([target(x.edge) for x in roots if x.edge is not None])
    if wanted is None:
        return [*nodes, *leaves]
    useful = {target(x.edge) for x in wanted if x.edge is not None}
    for node in reversed(nodes):
        if any(e is not None and target(e) in useful for e in node.edges):
            useful.add(node)
    return [node for node in (*nodes, *leaves) if node in useful]


def _all_below(starts: list[Any]) -> tuple[list[Node], list[AccumulateGrad]]:
    seen: set[Any] = set()
    nodes: list[Node] = []
    leaves: list[AccumulateGrad] = []
    while starts:
        node = starts.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node) is Node:
            nodes.append(node)
            starts.extend([target(e) for e in node.edges if e is not None])
        else:
            leaves.append(node)
    nodes.sort(key=attrgetter("seq"), reverse=True)
    return nodes, leaves


__all__ = ["reached"]
