"""Running a call that was worked out before: the kernel, the node, the result; nothing is checked.

A call whose operands are known to be of its specs, plain (no inference tensors, no views whose base
was written since) and, where it matters, row-major.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire_engine.apply import creation
from gradwire_engine.call import Call
from gradwire_engine.mode import State
from gradwire_engine.recipe import Recipe
from gradwire_engine.tape import Node, Output, next_seq
from gradwire_engine.tensor import INFERENCE, LONG_CHAIN, TURNED, VIEW, Storage, Tensor, View
from gradwire_engine.unrecorded import unrecorded


def performing(  # noqa: C901 (one hot frame)
    call: Call,
    *,
    label: str | None = None,
    records: bool = True,
    any_order: bool = False,
    needs: tuple[bool, ...] | None = None,
    used: Sequence[int] | None = None,
) -> Callable[[State, list[Any]], Any]:
    """A call of no view, as a function of this thread's state and of its operands one by one.

    label: what its node is called, if not as the op says. records: whether a node is made where an
    operand requires grad. any_order: whether operands may lie in another order than row by row.
    needs: which operands require a gradient, where that is known beforehand; it saves time.
    used: which of several results are returned, where `gives_used` is true; None: all of them.
    """
    op, single, ruled = call.op, call.single, call.ruled
    specs, first = call.outputs, call.outputs[0] if call.outputs else None
    records = records and op.differentiable and call.differentiable
    turned = _may_turn(call, any_order)
    if needs is not None and gives_used(call, any_order):
        if single:
            return _known(call, needs if records else (), label)
        every = range(len(specs)) if used is None else used
        return _known_several(call, needs if records else (), label, every)

    def perform(state: State, flat: list[Any]) -> Any:  # noqa: C901
        if state.meter is not None:
            state.meter.charge(call.nbytes, call.flops, 1)
        arrays = [
            (t._array if t._storage is None else t.array) if type(t) is Tensor else t for t in flat
        ]
        result = call.run(*arrays) if any_order else call.in_rows(*arrays)
        if single:
            every = [Tensor(result, first, None)]  # type: ignore[arg-type]
        else:
            every = [Tensor(a, s, None) for a, s in zip(result, specs)]  # noqa: B905
        if records and state.grad:
            edges = tuple(
                [t._edge if r and type(t) is Tensor else None for t, r in zip(flat, ruled)]  # noqa: B905
            )
            found = tuple([edge is not None for edge in edges])
            if True in found:
                if call.unrecorded:
                    raise unrecorded(op.name, specs)
                node = _node(call.recipe(found), every, flat, edges)
                if label is not None:
                    node.annotate().label = label
                if single:
                    every[0]._edge = node
                else:
                    for index, one in enumerate(every):
                        if one.spec.dtype.differentiable:
                            one._edge = Output(node, index)
        if turned or state.inference:
            for one in every:
                one.marked()
                one.flags |= INFERENCE * state.inference
        return every[0] if single else op.result(every)

    return perform


def gives_used(call: Call, any_order: bool) -> bool:
    """Whether a call whose needs are known can leave out results that nobody reads."""
    return not (_may_turn(call, any_order) or call.unrecorded)


def _may_turn(call: Call, any_order: bool) -> bool:
    """Whether a result may lie in another order than row by row."""
    return any_order or (call.op.lies is not None and call.op.lies.anyway)


def _known(
    call: Call, needs: tuple[bool, ...], label: str | None
) -> Callable[[State, list[Any]], Any]:
    """A call with one result as a function of state and operands; a node is made if any `needs`."""
    spec, recipe = call.outputs[0], call.recipe(needs) if any(needs) else None

    def perform(state: State, flat: list[Any]) -> Any:
        if state.meter is not None:
            state.meter.charge(call.nbytes, call.flops, 1)
        made = Tensor(
            call.in_rows(
                *[
                    (t._array if t._storage is None else t.array) if type(t) is Tensor else t
                    for t in flat
                ]
            ),
            spec,
            None,
        )
        if recipe is not None:
            edges = tuple([t._edge if n else None for t, n in zip(flat, needs)])  # noqa: B905
            made._edge = _node(recipe, [made], flat, edges)
            if label is not None:
                made._edge.annotate().label = label
        return made

    return perform


def _known_several(
    call: Call, needs: tuple[bool, ...], label: str | None, used: Sequence[int]
) -> Callable[[State, list[Any]], Any]:
    """A call with several results as such a function; it returns those results that are `used`."""
    specs, recipe = call.outputs, call.recipe(needs) if any(needs) else None
    edged = [i for i in used if specs[i].dtype.differentiable]

    def perform(state: State, flat: list[Any]) -> Any:
        if state.meter is not None:
            state.meter.charge(call.nbytes, call.flops, 1)
        arrays = [
            (t._array if t._storage is None else t.array) if type(t) is Tensor else t for t in flat
        ]
        every = [Tensor(a, s, None) for a, s in zip(call.in_rows(*arrays), specs)]  # noqa: B905
        if recipe is not None:
            edges = tuple([t._edge if n else None for t, n in zip(flat, needs)])  # noqa: B905
            node = _node(recipe, every, flat, edges, used)
            if label is not None:
                node.annotate().label = label
            for index in edged:
                every[index]._edge = Output(node, index)
        return [every[index] for index in used]

    return perform


def _node(
    recipe: Recipe,
    made: list[Tensor],
    flat: list[Any],
    edges: tuple[Any, ...],
    used: Sequence[int] | None = None,
) -> Node:
    """The node of a call; a saved result has no edge there, so that no node holds itself.

    used: which of the results are handed out, so that somebody may write to them; None: all.
    """
    saved, versions = [], []
    for place in recipe.saved:
        item = flat[place] if place >= 0 else made[~place]
        if place < 0 and (used is None or ~place in used):
            item = _held(item)
        saved.append(item)
        versions.append(
            0 if type(item) is not Tensor or item._storage is None else item._storage.version
        )
    return Node(recipe, edges, tuple(saved), tuple(versions), next_seq())


def _held(result: Tensor) -> Tensor:
    """A new result's elements as a tensor of its own."""
    result._storage, result._array = Storage(result._array), None
    item = Tensor(None, result.spec, None)
    item._storage = result._storage
    return item


def viewing(
    call: Call, *, label: str | None = None, records: bool = True
) -> Callable[[State, Tensor], Tensor]:
    """A call of a view op with one result, as a function of the state and of what is seen."""
    records = records and call.op.differentiable and call.differentiable
    recipe = call.recipe((True,)) if records else None
    spec, path = call.outputs[0], ((call, 0),)
    several_axes = len(spec.shape) > 1

    def see(state: State, source: Tensor) -> Tensor:
        old = source.view
        storage = source._storage or source.storage
        edge = source._edge if old is None else source.edge
        node: Node | None = None
        if edge is not None and state.grad and recipe is not None:
            node = Node(recipe, (edge,), (), (), next_seq())
            if label is not None:
                node.annotate().label = label
        if old is None:
            array = call.run(storage.array)
            seen = View(path, source, "alone", storage.version, 0)
            if state.inference or not state.grad:
                seen.creation = creation(call, None, state)
        else:
            array = call.run(source.array)
            chain, base, depth = old.chain, old.base, old.depth
            if base is None:
                base, depth = source, None  # type: ignore[assignment]
            if len(chain) >= LONG_CHAIN and state.meter is not None:
                state.meter.charge(8 * len(chain))
            seen = View((*chain, *path), base, creation(call, old, state), storage.version, depth)
        seen.array, seen.source = array, storage.array
        made = Tensor(None, spec, node)
        made._storage, made.view, made.flags = storage, seen, VIEW
        if several_axes and not array.flags.c_contiguous:
            made.flags |= TURNED
        return made

    return see
