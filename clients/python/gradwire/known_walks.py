"""Walks that went well at the host: one that is alike may wait to be sent.

Mirrors know of most walks that they fail, and not of all: some rules refuse what they are given. A
walk over the same ops, attributes, shapes and leaves, with the same arguments, comes to the same
rules; so the first of its kind is sent at once, to raise at its line, and those after it needn't.
Where elements decide, as the phase of complex vectors does, and where a Function of the user's is
in the graph, each is sent at once.
"""

from __future__ import annotations

from bisect import bisect
from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from typing import Any

from gradwire_engine.call import Call
from gradwire_engine.function_rule import Application
from gradwire_engine.spec import INTEGER, Spec
from gradwire_engine.tape import Node, Output, next_seq

_LONGEST, _MOST = 4096, 64
"""Nodes of a walk that is remembered, and how many are."""
_STEPS = 4096
"""Steps that are remembered, beside ops that write nothing."""
Kind = tuple[Hashable, ...]


class KnownWalks:
    """The kinds of walks that went well last. They hold the ops' recipes, so none is another's."""

    __slots__ = ("_kinds", "_steps")

    def __init__(self) -> None:
        self._kinds: OrderedDict[Kind, None] = OrderedDict()
        self._steps: deque[int] = deque(maxlen=_STEPS)

    def has(self, kind: Kind | None) -> bool:
        """Whether such a walk went well before."""
        return kind in self._kinds

    def add(self, kind: Kind | None) -> None:
        """Such a walk went well; the one that was added first goes where there are many."""
        if kind is not None:
            self._kinds[kind] = None
            while len(self._kinds) > _MOST:
                self._kinds.popitem(last=False)

    def note_step(self) -> None:
        """A step is recorded that may write to what a graph saved."""
        self._steps.append(next_seq())

    def kind_of(self, roots: Sequence[Any], wanted: Sequence[Any], about: Kind) -> Kind | None:
        """The kind of a walk: its graph, and how many steps may have written since it began.

        roots, wanted: tensors that it begins at, and that gradients are asked of. about: all else
        that it is given. None where there is too much to tell, or a Function of the user's in it.
        """
        found = _graph_of(roots, wanted)
        if found is None:
            return None
        first, graph = found
        steps = self._steps
        if len(steps) == _STEPS and steps[0] > first:
            return None
        return (len(roots), about, len(steps) - bisect(steps, first), *graph)


def _graph_of(roots: Sequence[Any], wanted: Sequence[Any]) -> tuple[int, list[Hashable]] | None:
    """When its first node was made, and the nodes' ops in the order of a visit."""
    numbers: dict[Any, int] = {}
    found: list[Hashable] = []
    stack: list[Any] = [root.edge for root in roots]
    while stack:
        edge = stack.pop()
        node = edge
        if type(edge) is Output:
            node = edge.node
            found.append(~edge.index)
        if node is None or node in numbers:
            found.append(None if node is None else numbers[node])
        elif len(numbers) >= _LONGEST:
            return None
        elif type(node) is Node:
            call = node.recipe.call
            if type(call) is Application or (_may_fail(call) and not _indexed(call)):
                return None
            numbers[node] = len(numbers)
            found.append(node.recipe)
            stack += node.edges
        else:
            leaf = node.leaf()
            numbers[node] = len(numbers)
            found.append((node.spec, None if leaf is None else leaf.spec))
    for tensor in wanted:
        edge = tensor.edge
        inner = type(edge) is Output
        found.append((numbers.get(edge.node if inner else edge), edge.index if inner else 0))
    return min([node.seq for node in numbers if node.seq], default=0), found


def _may_fail(call: Call) -> bool:
    """Whether an op may fail on elements; then so may what its rules call."""
    found = getattr(call.op, "fallible", False)
    return bool(found(call.inputs)) if callable(found) else bool(found)


def _indexed(call: Call) -> bool:
    """Whether an op may fail on indices alone, at which its walk doesn't look."""
    return any(isinstance(s, Spec) and s.dtype.category == INTEGER for s in call.inputs)


__all__ = ["Kind", "KnownWalks"]
