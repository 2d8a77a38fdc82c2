"""The middle way: ops of any number of operands and attributes, seen before.

What `apply` does in a handful of frames is one frame here. Whatever is not that simple goes the
long way, and so does what fails: there it is told why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire_engine.apply import planned
from gradwire_engine.call import CACHE_SIZE, Call
from gradwire_engine.mode import local
from gradwire_engine.op import Primitive
from gradwire_engine.quick_view import in_rows, whole
from gradwire_engine.spec import DType
from gradwire_engine.tape import Node, Output, next_seq
from gradwire_engine.tensor import INFERENCE, Storage, Tensor

_PLAIN = frozenset({bool, int, str, type(None), DType})
"""Types of attributes that their type and value identify."""
_INTS = frozenset({"ints", "dims"})
"""Kinds of attributes that are tuples of ints."""


def goes_middle(op: Primitive) -> bool:
    """Whether each use gives new arrays that depend on nothing but its arguments."""
    return (
        bool(op.places)
        and "tensors" not in op.kinds
        and not (op.random or op.view or op.many or op.data_dependent)
        and op.device_place is None
    )


def _plain(found: type, arg: Any, kind: str) -> bool:
    """Whether type and value tell an attribute from all others: they don't tell 0.0 from -0.0."""
    return found in _PLAIN or (arg if found is float else found is tuple and kind in _INTS)


def middle(op: Primitive) -> Callable[[tuple[Any, ...]], Any]:  # noqa: C901 (one hot frame)
    """The op on all its arguments in order."""
    calls: dict[tuple[Any, ...], Call] = {}
    get, kinds, places = calls.get, op.kinds, op.places
    records = op.differentiable
    plain = whole if op.lies is None else in_rows

    def learn(key: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
        made = op.dispatch(args, {})
        if op.goes_apart(args):
            return made
        if len(calls) >= CACHE_SIZE:
            calls.clear()
        calls[key] = planned(op, args)[0]
        return made

    def run(args: tuple[Any, ...]) -> Any:  # noqa: C901
        state = local.state
        key: list[Any] = [state.default_dtype]
        for kind, arg in zip(kinds, args):  # noqa: B905 (hot; the signature saw to the number)
            found = type(arg)
            if found is Tensor:
                if arg.flags and not plain(arg):
                    return op.dispatch(args, {})
                key.append(arg.spec)
            elif arg is None or (kind != "tensor" and _plain(found, arg, kind)):
                key += found, arg
            else:
                return op.dispatch(args, {})
        known = tuple(key)
        call = get(known)
        if call is None:
            return learn(known, args)
        flat = [args[place] for place in places]
        if state.meter is not None:
            state.meter.charge(call.nbytes, call.flops, 1)
        try:
            result = call.in_rows(*[None if t is None else t.array for t in flat])
        except Exception:
            return op.dispatch(args, {})
        if records and state.grad and call.differentiable:
            edges = tuple(
                [t._edge if t is not None and r else None for t, r in zip(flat, call.ruled)]  # noqa: B905
            )
            needs = tuple([edge is not None for edge in edges])
            if True in needs:
                if call.unrecorded:
                    return op.dispatch(args, {})
                if call.single:
                    return _recorded(call, result, flat, edges, needs)
                return op.result(_recorded_each(call, result, flat, edges, needs))
        if not call.single:
            return op.result(_each(call, result, INFERENCE if state.inference else 0))
        made = Tensor(result, call.outputs[0], None)
        if state.inference:
            made.flags = INFERENCE
        return made

    return run


def marking(run: Callable[[tuple[Any, ...]], Any]) -> Callable[[tuple[Any, ...]], Any]:
    """The same for an op whose results need not be row-major."""

    def marked(args: tuple[Any, ...]) -> Any:
        made = run(args)
        for one in made if isinstance(made, tuple) else (made,):
            if type(one) is Tensor:
                one.marked()
        return made

    return marked


def _recorded(
    call: Call, array: Any, flat: list[Any], edges: tuple[Any, ...], needs: tuple[bool, ...]
) -> Tensor:
    """The result with its node."""
    made = Tensor(array, call.outputs[0], None)
    made._edge = _node(call, [made], flat, edges, needs)
    return made


def _each(call: Call, arrays: Any, flags: int) -> list[Tensor]:
    """The results of an op that has several, without a node."""
    made = [Tensor(array, spec, None) for array, spec in zip(arrays, call.outputs, strict=True)]
    if flags:
        for one in made:
            one.flags = flags
    return made


def _recorded_each(
    call: Call, arrays: Any, flat: list[Any], edges: tuple[Any, ...], needs: tuple[bool, ...]
) -> list[Tensor]:
    """The same with their node, which the ones that have a gradient know."""
    made = _each(call, arrays, 0)
    node = _node(call, made, flat, edges, needs)
    for index, one in enumerate(made):
        if one.spec.dtype.differentiable:
            one._edge = Output(node, index)
    return made


def _node(
    call: Call,
    made: list[Tensor],
    flat: list[Any],
    edges: tuple[Any, ...],
    needs: tuple[bool, ...],
) -> Node:
    """The node of a call; a saved result has no edge there, so that no node holds itself."""
    recipe = call.recipe(needs)
    saved, versions = [], []
    for place in recipe.saved:
        item = _held(made[~place]) if place < 0 else flat[place]
        saved.append(item)
        versions.append(0 if item is None else item.version)
    return Node(recipe, edges, tuple(saved), tuple(versions), next_seq())


def _held(result: Tensor) -> Tensor:
    """A new result's elements as a tensor of its own."""
    result._storage, result._array = Storage(result._array), None
    item = Tensor(None, result.spec, None)
    item._storage = result._storage
    return item
