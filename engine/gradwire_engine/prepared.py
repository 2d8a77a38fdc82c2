"""Prepared calls: what a kind of arguments decides is worked out once, and found by them again.

The first call of an op with arguments of some kind (specs, attributes, which of them require grad)
binds and checks them and runs; it leaves the prepared call. That of a primitive is its kernel, with
what its node keeps; that of a composite is the list of those that it comes to, with what lies
between them. What is not that simple goes the long way, and so does what fails: there it is told
why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire_engine.apply import planned
from gradwire_engine.call import CACHE_SIZE
from gradwire_engine.mode import State, local
from gradwire_engine.op import Composite, Op, Primitive
from gradwire_engine.perform import performing, viewing
from gradwire_engine.quick_view import in_rows
from gradwire_engine.spec import DType
from gradwire_engine.straight import straight
from gradwire_engine.tensor import Tensor

Run = Callable[[State, list[Tensor]], Any]
"""A prepared call: takes the tensors among the arguments, in order."""

_PLAIN = frozenset({bool, int, str, type(None), DType, type(Ellipsis)})
"""Types of attributes that their type and value identify."""


def install(op: Op) -> None:
    """Have an op find its prepared calls."""
    if not _writes(op) and any(map(_may_be_prepared, op.overloads)):
        op.general = op.way = _general(op)
        first = op.overloads[0]
        if isinstance(first, Primitive) and first.short is not None and not first.view:
            _shorten(op, first, *first.short)


def _shorten(op: Op, first: Primitive, operands: int, run: Callable[..., Any]) -> None:
    """Have an op take its first overload's short way, with tensors alone or a number behind one."""
    op.operands, op.quick, op.kind, op.way = operands, run, Tensor, op.__call__
    if operands == 1:
        op.of_one = run
    elif first.signature.parameters[1].numbers:
        op.numbers, op.of_two = True, run


def _writes(op: Op) -> bool:
    """Whether it is there in place only."""
    return op.name == "__setitem__" or (op.name.endswith("_") and not op.name.endswith("__"))


def _general(op: Op) -> Callable[..., Any]:  # noqa: C901 (one hot frame)
    """An op's call with any arguments."""
    prepared: dict[tuple[Any, ...], Run | None] = {}
    get, bound = prepared.get, op.bound
    whole = any(isinstance(overload, Composite) for overload in op.overloads)

    def learn(key: tuple[Any, ...], args: Any, kwargs: dict[str, Any], flat: list[Tensor]) -> Any:
        overload, values = op.bind(args, kwargs)
        made = op.apply(overload, values)
        if len({*map(id, flat)}) == len(flat):  # else it isn't known which of two is meant where
            found = _prepared(overload, values, args, kwargs, flat, made)
            if len(prepared) >= CACHE_SIZE:
                prepared.clear()
            prepared[key] = found
        return made

    def general(*args: Any, **kwargs: Any) -> Any:  # noqa: C901
        state = local.state
        if state.inference or state.writing or state.vmap is not None:
            return bound(args, kwargs)
        key: list[Any] = [state.default_dtype, state.grad]
        flat: list[Tensor] = []
        values = args
        if kwargs:
            key += kwargs
            values = (*args, *kwargs.values())
        for arg in values:
            kind = type(arg)
            if kind is Tensor:
                if (arg.flags and not in_rows(arg)) or (whole and not _lies_in_rows(arg)):
                    return bound(args, kwargs)
                flat.append(arg)
                key.append(arg.spec)
                if whole:
                    key.append(arg._edge is None)
            elif kind in _PLAIN:
                key += kind, arg
            elif kind is float:
                key += kind, arg if arg and arg == arg else repr(arg)
            elif not (_entered(key, flat, arg, whole)):
                return bound(args, kwargs)
        if not flat:
            return bound(args, kwargs)
        known = tuple(key)
        run = get(known, _UNKNOWN)
        if run is None:
            return bound(args, kwargs)
        if run is _UNKNOWN and whole:  # to take a composite apart costs as much as some calls
            if len(prepared) >= CACHE_SIZE:
                prepared.clear()
            prepared[known] = _ONCE
            return bound(args, kwargs)
        if run is _UNKNOWN or run is _ONCE:
            return learn(known, args, kwargs, flat)
        try:
            return run(state, flat)
        except Exception:
            return bound(args, kwargs)

    return general


_UNKNOWN: Any = object()
_ONCE: Any = object()
"""In the place of a prepared call of arguments that came once; a loop's come again."""


def _lies_in_rows(tensor: Tensor) -> bool:
    """Whether its elements lie one after the other: composites may ask for that."""
    return bool(tensor.array.flags.c_contiguous)


def _entered(key: list[Any], flat: list[Tensor], arg: Any, whole: bool) -> bool:
    """Put what identifies an argument that has parts into the key; whether it is of a kind known.

    It is a list or tuple of tensors, numbers and slices.
    """
    kind = type(arg)
    if kind is slice:
        parts: Sequence[Any] = (arg.start, arg.stop, arg.step)
        key += kind, *parts
        return {*map(type, parts)} <= {int, type(None)}
    if kind is not list and kind is not tuple:
        return False
    key += kind, len(arg)
    for item in arg:
        kind = type(item)
        if kind is Tensor:
            if (item.flags and not in_rows(item)) or (whole and not _lies_in_rows(item)):
                return False
            flat.append(item)
            key += item.spec, item._edge is None
        elif kind in _PLAIN:
            key += kind, item
        elif kind is not slice or not _entered(key, flat, item, whole):
            return False
    return True


def _may_be_prepared(overload: Primitive | Composite) -> bool:
    """Whether what it gives depends on nothing but specs, attributes and elements."""
    if isinstance(overload, Composite):
        return not (overload.random or overload.by_place)
    return (
        bool(overload.places)
        and not (overload.random or overload.data_dependent)
        and not (overload.view and overload.many)
        and overload.device_place is None
    )


def _prepared(
    overload: Any,
    values: tuple[Any, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    flat: list[Tensor],
    made: Any,
) -> Run | None:
    """The prepared call of these arguments; None where there can be none."""
    if not _may_be_prepared(overload):
        return None
    if isinstance(overload, Composite):
        return straight(overload, values, flat, made)
    if overload.goes_apart(values):
        return None
    call, operands = planned(overload, values)
    if call.unrecorded or len({*map(id, flat)} & {*map(id, operands)}) != len(flat):
        return None
    if overload.view:
        see = viewing(call)
        return lambda state, given: see(state, given[0])
    run = performing(call)
    places = [next((i for i, x in enumerate(flat) if x is o), None) for o in operands]
    if places == list(range(len(flat))):
        return run
    constants = [None if type(o) is Tensor else o for o in operands]
    if any(p is None and type(o) is Tensor for p, o in zip(places, operands, strict=True)):
        return None  # made of a number
    pairs = list(zip(places, constants, strict=True))
    return lambda state, given: run(state, [c if p is None else given[p] for p, c in pairs])
