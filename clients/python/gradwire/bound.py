"""Ops bound to the way that they take where their tensors are here: what is called most often.

Whatever is not that simple goes the way of any call, and so does what fails: there it is told why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire.at_once import NOT_DONE, recorded
from gradwire.defaults import DEFAULT
from gradwire.dispatch import TRUTHS, adopt, call, with_care, wrapped
from gradwire.tensor import Tensor
from gradwire.thread import NO_DRAWS, WouldDraw, quiet_context, threads
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import local
from gradwire_engine.op import Op
from gradwire_engine.signature import LEAST, MOST
from gradwire_engine.tensor import Tensor as Value

_new = object.__new__
_NUMBERS = frozenset({bool, float, int})
_FAILED: Any = object()
_HARMLESS = (GradwireError, AttributeError, WouldDraw)
"""What says that the call goes the way of any other."""


def _without_draws(way: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run so that WouldDraw is raised where it would draw random numbers."""

    def run(*values: Any) -> Any:
        state = local.state
        before = state.generator
        try:
            state.generator = NO_DRAWS
            return way(*values)
        finally:
            state.generator = before

    return run


def of_one(op: Op) -> Callable[[Tensor], Any]:
    """An op of a tensor alone."""
    if op.name in TRUTHS:
        return lambda x: call(op, (x,), {})
    way, mirrored = op.of_one or _without_draws(op.way), op.of_one or op.way

    def one(x: Tensor) -> Any:
        thread, session, meta = threads.here, x.session, x._meta
        if thread.entries or thread.blocks or thread.recordings:
            return call(op, (x,), {})
        if not session.takes_calls:
            found = recorded(session, op, (x,), {}, adopt, mirrored)
            return with_care(op, (x,), {}) if found is NOT_DONE else found
        state = local.state
        if type(meta) is not Value or state.anomaly or state.default_dtype is not DEFAULT[0]:
            return call(op, (x,), {})
        context, thread.context = thread.context or quiet_context(), None
        try:
            result = context.run(way, meta)
        except _HARMLESS:
            result = _FAILED
        finally:
            thread.context = context
        if type(result) is not Value or result.view is not None or result is meta:
            return call(op, (x,), {}) if result is _FAILED else wrapped(session, result, (x,))
        made = _new(Tensor)
        made.session, made._meta, made._grad = session, result, None
        return made

    return one


def of_two(  # noqa: C901 (one hot frame)
    op: Op, otherwise: Callable[[Tensor, Any], Any] | None = None
) -> Callable[[Tensor, Any], Any]:
    """An op of a tensor and another, or a number.

    otherwise: what is done where the call isn't that simple, or fails; else it is as any call.
    """
    way = _without_draws(op.way)
    near = op.quick if op.operands == 2 else way
    mirrored = op.way if near is way else near
    fresh = None if near is way or op.overloads[0].view else near
    by_number = op.of_two or way
    apart = otherwise or (lambda x, other: call(op, (x, other), {}))
    if op.name in TRUTHS:
        return apart

    def two(x: Tensor, other: Any) -> Any:  # noqa: C901
        thread, session, meta = threads.here, x.session, x._meta
        if type(other) is Tensor or isinstance(other, Tensor):
            if other.session is not session:
                return apart(x, other)
            second = other._meta
            run = near if type(second) is Value else way
        elif type(other) in _NUMBERS:
            short = type(other) is float or (type(other) is int and LEAST <= other <= MOST)
            second, run = other, by_number if short else way
        else:
            return apart(x, other)
        if thread.entries or thread.blocks or thread.recordings:
            return apart(x, other)
        if not session.takes_calls:
            on_mirrors = mirrored if run is near else op.way
            found = recorded(session, op, (x, other), {}, adopt, on_mirrors)
            if found is not NOT_DONE:
                return found
            try:
                return with_care(op, (x, other), {})
            except GradwireError as problem:
                if otherwise is None or not isinstance(problem, TypeError):
                    raise
                return otherwise(x, other)
        state = local.state
        if type(meta) is not Value or state.anomaly or state.default_dtype is not DEFAULT[0]:
            return apart(x, other)
        context, thread.context = thread.context or quiet_context(), None
        try:
            result = context.run(run, meta, second)
        except _HARMLESS:
            result = _FAILED
        finally:
            thread.context = context
        if type(result) is not Value or (
            run is not fresh  # which gives a tensor of its own
            and (result.view is not None or result is meta or result is second)
        ):
            return apart(x, other) if result is _FAILED else wrapped(session, result, (x, other))
        made = _new(Tensor)
        made.session, made._meta, made._grad = session, result, None
        return made

    return two


__all__ = ["of_one", "of_two"]
