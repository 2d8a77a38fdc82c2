"""Ops bound to the way that they take where their tensors are here: what is called most often.

Whatever is not that simple goes the way of any call, and so does what fails: there it is told why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire.defaults import DEFAULT
from gradwire.dispatch import TRUTHS, call, there, with_care, wrapped
from gradwire.tensor import Tensor
from gradwire.thread import NO_DRAWS, WouldDraw, quiet_context, threads
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import local
from gradwire_engine.op import Op
from gradwire_engine.tensor import Tensor as Value

_new = object.__new__
_NUMBERS = frozenset({bool, float, int})


def of_one(op: Op) -> Callable[[Tensor], Any]:
    """An op of a tensor alone."""
    way, truth = op.way, op.name in TRUTHS

    def one(x: Tensor) -> Any:
        thread, session = threads.here, x.session
        if thread.entries or thread.blocks or thread.recordings or truth:
            return call(op, (x,), {})
        if not session.takes_calls:
            return there(session, op, (x,), {})
        state, meta = local.state, x._meta
        if state.anomaly or state.default_dtype is not DEFAULT[0]:
            return call(op, (x,), {})
        before = state.generator
        context = thread.quiet.pop() if thread.quiet else quiet_context()
        try:
            state.generator = NO_DRAWS
            result = context.run(way, meta)
        except (GradwireError, AttributeError, WouldDraw):
            return with_care(op, (x,), {})
        finally:
            state.generator = before
            thread.quiet.append(context)
        if type(result) is not Value or result.view is not None or result is meta:
            return wrapped(session, result, (x,))
        made = _new(Tensor)
        made.session, made._meta, made._grad = session, result, None
        return made

    return one


def of_two(op: Op) -> Callable[[Tensor, Any], Any]:
    """An op of a tensor and another, or a number."""
    way, truth = op.way, op.name in TRUTHS

    def two(x: Tensor, other: Any) -> Any:
        thread, session = threads.here, x.session
        if isinstance(other, Tensor):
            if other.session is not session:
                return call(op, (x, other), {})
            second = other._meta
        elif type(other) in _NUMBERS:
            second = other
        else:
            return call(op, (x, other), {})
        if thread.entries or thread.blocks or thread.recordings or truth:
            return call(op, (x, other), {})
        if not session.takes_calls:
            return there(session, op, (x, other), {})
        state, meta = local.state, x._meta
        if state.anomaly or state.default_dtype is not DEFAULT[0]:
            return call(op, (x, other), {})
        before = state.generator
        context = thread.quiet.pop() if thread.quiet else quiet_context()
        try:
            state.generator = NO_DRAWS
            result = context.run(way, meta, second)
        except (GradwireError, AttributeError, WouldDraw):
            return with_care(op, (x, other), {})
        finally:
            state.generator = before
            thread.quiet.append(context)
        if (
            type(result) is not Value
            or result.view is not None
            or result is meta
            or result is second
        ):
            return wrapped(session, result, (x, other))
        made = _new(Tensor)
        made.session, made._meta, made._grad = session, result, None
        return made

    return two


__all__ = ["of_one", "of_two"]
