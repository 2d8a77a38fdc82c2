"""The middle way: ops of any number of operands and attributes, seen before.

What `apply` does in a handful of frames is one frame here. Whatever is not that simple goes the
long way, and so does what fails: there it is told why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire_engine.apply import INTS, PLAIN, planned
from gradwire_engine.call import CACHE_SIZE
from gradwire_engine.mode import local
from gradwire_engine.op import Primitive
from gradwire_engine.perform import performing
from gradwire_engine.quick_view import in_rows, whole
from gradwire_engine.tensor import Tensor


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
    return found in PLAIN or (arg if found is float else found is tuple and kind in INTS)


def middle(op: Primitive) -> Callable[[tuple[Any, ...]], Any]:  # noqa: C901 (one hot frame)
    """The op on all its arguments in order."""
    calls: dict[tuple[Any, ...], Callable[..., Any]] = {}
    get, kinds, places = calls.get, op.kinds, op.places
    plain = whole if op.lies is None else in_rows

    def learn(key: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
        made = op.dispatch(args, {})
        if op.goes_apart(args):
            return made
        if len(calls) >= CACHE_SIZE:
            calls.clear()
        calls[key] = performing(planned(op, args)[0])
        return made

    def run(args: tuple[Any, ...]) -> Any:
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
        perform = get(known)
        if perform is None:
            return learn(known, args)
        try:
            return perform(state, [args[place] for place in places])
        except Exception:
            return op.dispatch(args, {})

    return run
