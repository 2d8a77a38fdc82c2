"""A custom function is applied: what it is goes to the host as two programs and one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradwire import current
from gradwire.autograd.mirrored import Mirror
from gradwire.autograd.written import Backward, Forward, Used, distinct
from gradwire.faults import Fault, ending
from gradwire.leaf import leaf
from gradwire.tensor import Tensor
from gradwire.trace import innermost
from gradwire_engine import function as engine
from gradwire_engine.mode import local


def applied(used: Used, args: tuple[Any, ...]) -> Any:
    """What the forward gives; its node's rule is the backward."""
    forward = Forward(place_of_call(args), used, args)
    recorded = local.state.grad and any(forward.ctx.needs_input_grad)
    backward = Backward(forward) if recorded else None
    results = _recorded(forward, backward) if forward.tensors else []
    found = iter(results)
    outputs = [next(found) if isinstance(o, Tensor) else o for o in forward.outputs]
    return outputs[0] if forward.single else tuple(outputs)


def place_of_call(args: tuple[Any, ...]) -> Any:
    """The session, or the function that is written down, in which a call with these is done."""
    first = next((a for a in args if isinstance(a, Tensor)), None)
    return innermost() or (current.session() if first is None else first.session)


def _recorded(forward: Forward, backward: Backward | None) -> list[Tensor]:
    """The call's results, its step recorded."""
    session = forward.trace.outer
    mirror = Mirror(forward, backward)
    own = [arg for arg in forward.given if isinstance(arg, Tensor)]
    with session.recording() as mark:
        given = [a._meta if isinstance(a, Tensor) else None for a in forward.given]
        metas = engine.apply(mirror.run, given)
        mirror.node(metas)
        results = [next((a for a in own if a._meta is m), None) for m in metas]
        found = [
            Tensor(session, m) if r is None else r for r, m in zip(results, metas, strict=True)
        ]
        made = [t for t, r in zip(found, results, strict=True) if r is None]
        step = _step(forward, backward, mirror.fault)
        step["out"] = [t._name if r is None else None for t, r in zip(found, results, strict=True)]
        mode = None if backward is not None else "no_grad"
        session.record(step, made, mark=mark, grad_mode=mode)
    return found


def _step(forward: Forward, backward: Backward | None, fault: Fault | None) -> dict[str, Any]:
    """The call as a step; without a backward that can be walked, one that never is stands in.

    fault: in its place is one that fails.
    """
    session, ctx = forward.trace.outer, forward.ctx
    names = distinct(forward.trace, forward.tensors)
    fills_in = ctx.materialize_grads if backward is None else backward.fills_in
    given = None if backward is None or fault is not None else backward.of_tensors()
    if fault is not None and backward is not None:
        _spare(forward)
        saved = list(backward.kept)
        key = session.program(_failing(len(saved), len(names), fault))
    elif given is None or all(g is None for g in given):
        _spare(forward)
        given, key, saved = None, session.program(_unused(len(names))), []
    else:
        assert backward is not None
        key = session.program(backward.body([g for g in given if g is not None]))
        saved = list(backward.kept)
    inputs = [name for name, _ in forward.trace.inputs]
    constant = {id(t) for t in ctx.non_differentiable}
    pairs = zip(names, forward.tensors, strict=True)
    return {
        "call": session.program(forward.body(names)),
        "args": [tensor._name for _, tensor in forward.trace.inputs],
        "backward": key,
        "null": inputs[:-1] if given is None else _null(inputs, given),
        "save": saved,
        "name": forward.used.name,
        "dirty": [t._name for t in ctx.dirty_tensors],
        "non_differentiable": [name for name, t in pairs if id(t) in constant],
        # one that is to fail needs an operand to do so
        "materialize_grads": fills_in or (backward is not None and fault is not None),
        "once_differentiable": forward.used.once_differentiable,
    }


def _null(inputs: Sequence[str], given: Sequence[Any]) -> list[str]:
    """The inputs that get no gradient: of arguments that got None, and all that was captured."""
    return [name for name, g in zip(inputs, given, strict=False) if g is None] + [
        *inputs[len(given) :]
    ]


def _spare(forward: Forward) -> None:
    """One more input, for a program has a result: it takes the gradient that nobody gets."""
    constant = leaf(forward.trace.outer, np.zeros(()))
    forward.trace.enter(constant, constant.shape)


def _unused(count: int) -> dict[str, Any]:
    """A backward that gives a gradient to nothing."""
    names = [f"g{i}" for i in range(count)]
    return {"inputs": names, "ops": [], "outputs": names[:1]}


def _failing(saved: int, count: int, fault: Fault) -> dict[str, Any]:
    """A backward that fails."""
    names = [f"s{i}" for i in range(saved)] + [f"g{i}" for i in range(count)]
    return {"inputs": names, "ops": [ending(fault.text, "g0", "end")], "outputs": ["end"]}


__all__ = ["applied", "place_of_call"]
