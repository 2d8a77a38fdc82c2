"""A composite as a list of primitives: what it comes to for arguments of one kind.

The composite runs once more on symbols (see symbol.py), which says which primitives it calls on
what. Where that depended on elements there are none to look at, so it has no such list. The graph
that the real call left says which of them are recorded and what their nodes are called; where the
two don't fit together, a detached operand among them, there is no list either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire_engine.arrays import phantom_of
from gradwire_engine.call import Call, moved
from gradwire_engine.mode import State, using
from gradwire_engine.op import Composite
from gradwire_engine.perform import gives_used, performing, viewing
from gradwire_engine.symbol import SYMBOLIC, Entry, Symbol, Trace, UntraceableError, aside
from gradwire_engine.tape import AccumulateGrad, Edge, Node, Output, target
from gradwire_engine.tensor import Tensor

Run = Callable[[State, list[Any]], Any]
MOST = 24
"""Primitives from which on what Python spends between them is no matter."""


def straight(
    composite: Composite, values: Sequence[Any], flat: Sequence[Tensor], made: Any
) -> Run | None:
    """The composite on these values as a function of the state and the tensors among them.

    flat: the tensors, in the order in which they will be given. made: what the composite gave.
    """
    outputs = list(made) if type(made) is list or isinstance(made, tuple) else [made]
    devices = {t.spec.device for t in flat}
    if len(devices) != 1 or SYMBOLIC in devices or not all(type(t) is Tensor for t in outputs):
        return None
    try:
        traced = _Traced(composite, values, flat)
    except Exception:  # whatever a composite does to a symbol that has no elements
        return None
    if traced.kind is not type(made) or len(traced.outputs) != len(outputs):
        return None
    return _Fitting(traced, flat, outputs, devices.pop()).run(made)


class _Traced:
    """A composite's calls on symbols: the places of its operands and results, and what is known."""

    def __init__(self, composite: Composite, values: Sequence[Any], flat: Sequence[Tensor]) -> None:
        modes = dict.fromkeys(("meter", "journal", "watch", "profile", "origin"))
        with aside(), Trace() as found, using(device=SYMBOLIC, **modes):
            inputs = [_symbolic(found, t) for t in flat]
            self.inputs = [_place(t) for t in inputs]
            of = {id(t): x for t, x in zip(flat, inputs, strict=True)}
            given = composite(*[_replaced(v, of) for v in values])
            if [_place(t) for t in inputs] != self.inputs:
                raise UntraceableError("it writes to an operand")
            every = list(given) if type(given) is list or isinstance(given, tuple) else [given]
            self.outputs = [_place(t) for t in every]
        self.kind, self.entries, self.constants = type(given), found.entries, found.constants
        self.phantoms = found.phantoms
        self.given = [next((i for i, x in enumerate(inputs) if x is t), None) for t in every]


def _symbolic(found: Trace, tensor: Tensor) -> Tensor:
    spec = tensor.spec
    made = Tensor(found.symbol(phantom_of(spec)), spec._replace(device=SYMBOLIC), None)
    if tensor._edge is not None:
        made._edge = AccumulateGrad(made)
    return made


def _place(tensor: Any) -> int:
    array = tensor.array
    if type(array) is not Symbol:
        raise UntraceableError("a result was made elsewhere")
    return array.place


def _replaced(value: Any, by: dict[int, Tensor]) -> Any:
    if type(value) is Tensor:
        return by[id(value)]
    return tuple(_replaced(v, by) for v in value) if type(value) is tuple else value


class _Fitting:
    """The calls on symbols beside the graph that the real call left."""

    def __init__(
        self, traced: _Traced, flat: Sequence[Tensor], outputs: Sequence[Tensor], device: str
    ) -> None:
        self.traced, self.flat, self.outputs, self.device = traced, flat, outputs, device
        self.slots = {place: i for i, place in enumerate(traced.inputs)}
        self.constants = list(traced.constants.values())
        for place in traced.constants:
            self.slots[place] = len(self.slots)
        self.read = {place for entry in traced.entries for place in entry.operands}
        self.read.update(traced.outputs)
        self.edges: dict[int, Any] = {  # what is known of a slot's edge; absent: it has none
            i: _key(t._edge) for i, t in enumerate(flat) if t._edge is not None
        }

    def run(self, made: Any) -> Run | None:
        """The list as a function; None where trace and graph don't fit."""
        nodes = self._nodes()
        if nodes is None or len(self.traced.entries) > MOST or not self._known_constants():
            return None
        steps = []
        for entry in self.traced.entries:
            step = self._step(entry, nodes)
            if step is None:
                return None
            steps.append(step)
        if nodes or not self._outputs_fit():
            return None
        places = [self.slots[place] for place in self.traced.outputs]
        return _program(steps, len(self.flat), self.constants, places, made)

    def _known_constants(self) -> bool:
        return all(c is None or type(c) in (bool, int, float, complex) for c in self.constants)

    def _nodes(self) -> list[Node] | None:
        """The nodes that the real call made and its results lead to, oldest first."""
        ends = {target(t._edge) for t in self.flat if t._edge is not None}
        stack: list[Any] = [target(t._edge) for t in self.outputs if t._edge is not None]
        found: set[Any] = set()
        while stack:
            node = stack.pop()
            if node in ends or node in found:
                continue
            if type(node) is not Node:
                return None
            found.add(node)
            stack += [target(edge) for edge in node.edges if edge is not None]
        return sorted(found, key=lambda node: -node.seq)

    def _step(self, entry: Entry, nodes: list[Node]) -> Any:
        """One call with the slots of its operands; it takes its node off the list if it has one."""
        call = entry.call
        if type(call) is not Call or call.op.data_dependent or call.op.random:
            return None
        known = moved(call, self.device)
        node = nodes[-1] if nodes and _same(nodes[-1].recipe.call, known) else None
        places = [self.slots[place] for place in entry.operands]
        others = self._lie_otherwise(entry)
        used = self._used(entry, others)
        for index in used:
            self.slots[entry.results[index]] = len(self.slots)
        label = None
        if node is not None:
            nodes.pop()
            if not self._edges_fit(node, places):
                return None
            known = node.recipe.call
            label = node.extra.label if node.extra is not None else None
            for index in used:
                if known.outputs[index].dtype.differentiable:
                    self.edges[self.slots[entry.results[index]]] = (
                        node if known.single else (node, index)
                    )
        elif known.op.view and any(place in self.edges for place in places):
            return None  # what is seen without a history has another base than what is seen with it
        several = not known.single
        if known.op.view:
            if several:
                return None
            see = viewing(known, label=label, records=node is not None)
            return (lambda state, given: see(state, given[0])), places, several
        needs = tuple([edge is not None for edge in node.edges]) if node is not None else ()
        run = performing(
            known, label=label, records=node is not None, any_order=others, needs=needs, used=used
        )
        return run, places, several

    def _used(self, entry: Entry, others: bool) -> list[int]:
        """The numbers of a call's results that `performing` returns: those that are read later."""
        every = range(len(entry.results))
        if len(every) == 1 or not gives_used(entry.call, others):
            return [*every]
        return [i for i in every if entry.results[i] in self.read]

    def _lie_otherwise(self, entry: Entry) -> bool:
        """Whether operands or results don't lie row by row."""
        every = [self.traced.phantoms[place] for place in (*entry.operands, *entry.results)]
        return any(lying is not None and not lying.flags.c_contiguous for lying in every)

    def _edges_fit(self, node: Node, places: Sequence[int]) -> bool:
        """Whether its operands were made where the list makes them, and none was detached."""
        call = node.recipe.call
        for edge, place, ruled in zip(node.edges, places, call.ruled, strict=True):
            known = self.edges.get(place)
            if (None if edge is None else _key(edge)) != (known if ruled else None):
                return False
        return True

    def _outputs_fit(self) -> bool:
        """Whether the list gives each result its history; an operand comes back as itself."""
        for output, place, given in zip(
            self.outputs, self.traced.outputs, self.traced.given, strict=True
        ):
            slot = self.slots[place]
            known = None if output._edge is None else _key(output._edge)
            itself = slot < len(self.flat)
            if known != self.edges.get(slot) or itself != (given is not None):
                return False
            if itself and output is not self.flat[slot]:
                return False
        return True


def _key(edge: Edge) -> Any:
    return (edge.node, edge.index) if type(edge) is Output else edge


def _same(one: Call, other: Call) -> bool:
    return one.op is other.op and one.arguments == other.arguments


def _program(
    steps: list[Any], operands: int, constants: list[Any], outputs: list[int], made: Any
) -> Run:
    """The list as a function that goes through it, and lets go of what no later call needs."""
    only = outputs[0] if type(made) is Tensor else None
    if only is not None and len(steps) == 1 and not steps[0][2]:
        alone, places, _ = steps[0]
        if places == [0] and only == operands == 1 and not constants:
            return alone  # type: ignore[no-any-return]
    make: Any = type(made)
    make = getattr(make, "_make", make)

    def run(state: State, flat: list[Any]) -> Any:
        slots = [*flat, *constants]
        for perform, places, several in steps:
            found = perform(state, [slots[place] for place in places])
            if several:
                slots += found
            else:
                slots.append(found)
        return slots[only] if only is not None else make([slots[place] for place in outputs])

    return run
