"""From a call in Python to a recorded step: the engine's own rules run first, on shapes alone.

Each SDK tensor mirrors its twin on the server by a `meta` tensor of the engine: shape, dtype,
requires_grad, is_leaf, version and graph, without elements. So what those decide raises here, on the
user's line, with the server's own text; and reading them costs no round trip.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire import current
from gradwire.tensor import Tensor
from gradwire_engine import inplace, mode
from gradwire_engine.catalogue import CATALOGUE, find, inplace_twin
from gradwire_engine.errors import GradwireError
from gradwire_engine.op import Op
from gradwire_engine.spec import DType, Spec
from gradwire_engine.tensor import Tensor as Meta


def call(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply a catalogue op: infer at once, record, give back tensors without elements yet."""
    session = current.session()
    kwargs = {k: v for k, v in kwargs.items() if v is not None or k not in _DROPPED}
    requires_grad = kwargs.pop("requires_grad", False)
    device = kwargs.pop("device", None)
    step: dict[str, Any] = {"op": op.name, "args": [wire(a) for a in args]}
    if kwargs:
        step["kwargs"] = {k: wire(v) for k, v in kwargs.items()}
    state = mode.current()
    with mode.using(device="meta", fallible=False):
        try:
            result = op(*map(mirrored, args), **{k: mirrored(v) for k, v in kwargs.items()})
        except GradwireError as problem:
            if problem.code != "data_dependent_shape":
                raise
            return _ask(session, op, step)
        fallible = state.fallible
    del device
    found = _adopt(session, step, result, (*args, *kwargs.values()))
    if fallible:
        session.flush()
    return found.requires_grad_() if requires_grad else found


_DROPPED = ("out", "device", "layout", "memory_format", "generator", "pin_memory", "requires_grad")
"""Keywords of torch that mean nothing here unless they are given a value."""


def call_inplace(name: str, target: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply the in-place form of an op; sent at once while grad mode is on, as it may be refused."""
    session = target.session
    step: dict[str, Any] = {"op": name, "args": [wire(a) for a in (target, *args)]}
    if kwargs:
        step["kwargs"] = {k: wire(v) for k, v in kwargs.items()}
    inplace.call(
        name,
        (target._meta, *map(mirrored, args)),
        {k: mirrored(v) for k, v in kwargs.items()},
    )
    session.record(step)
    if mode.current().grad:
        session.flush()
    return target


def mirrored(value: Any) -> Any:
    """What the engine's rules see of an argument: the tensor's mirror, or the value itself."""
    kind = type(value)
    if kind is Tensor or isinstance(value, Tensor):
        return value._meta
    if kind in (list, tuple):
        return kind(map(mirrored, value)) if kind is list else tuple(map(mirrored, value))
    if isinstance(value, slice):
        return slice(mirrored(value.start), mirrored(value.stop), mirrored(value.step))
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    return value


def wire(value: Any) -> Any:
    """How an argument travels: tensors by name, dtypes by name, slices and ... as in `api.md`."""
    if isinstance(value, Tensor):
        return value._name
    if isinstance(value, DType):
        return value.name
    if isinstance(value, (list, tuple)):
        return [wire(v) for v in value]
    if isinstance(value, slice):
        return {"slice": [wire(value.start), wire(value.stop), wire(value.step)]}
    if value is Ellipsis:
        return "..."
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    return value


def _adopt(session: Any, step: dict[str, Any], result: Any, args: tuple[Any, ...]) -> Any:
    """Record the step with names for its results, and wrap their mirrors."""
    if type(result) is Meta:
        for arg in args:
            if isinstance(arg, Tensor) and arg._meta is result:
                return arg  # the op gave its operand back, as contiguous() may
        made = Tensor(session, session.new_name(), result)
        session.record({**step, "out": made._name})
        return made
    if isinstance(result, (list, tuple)):
        parts = [Tensor(session, session.new_name(), part) for part in result]
        session.record({**step, "out": [part._name for part in parts]})
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def _ask(session: Any, op: Op, step: dict[str, Any]) -> Any:
    """An op whose result's shape depends on data: the server says what came out."""
    name = session.new_name()
    session.record({**step, "out": name})
    found = session.flush([name], data=False)[name]
    meta = Meta.of(np.empty(()), device="meta")
    meta.spec = Spec(found.shape, found.dtype, "meta")
    return Tensor(session, name, meta)


def function(name: str) -> Any:
    """The function of this name in the SDK: an op, or an op's in-place form."""
    twin = inplace_twin(name)
    if twin is not None:
        return lambda target, *args, **kwargs: call_inplace(name, target, args, kwargs)
    op = find(name)
    if op is None:
        return None

    def apply(*args: Any, **kwargs: Any) -> Any:
        return call(op, args, kwargs)

    apply.__name__ = apply.__qualname__ = name.rpartition(".")[2]
    apply.__doc__ = f"{op.doc}\n\n" + "\n".join(f"{op.name}{s}" for s in op.signatures)
    return apply


__all__ = ["CATALOGUE", "call", "call_inplace", "function", "mirrored", "wire"]
