"""An op recorded for a host in one go: what is called most, by the shortest way.

It does what `dispatch` does for any call, where nothing is special about this one. An op on mirrors
changes none, so there is nothing to undo if it raises: then the long way says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import numpy as np

from gradwire import recorder
from gradwire.defaults import DEFAULT
from gradwire.pending import users_place
from gradwire.session import Session
from gradwire.size import Size
from gradwire.tensor import Tensor
from gradwire.wire import tensors_in, wire_index
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import local
from gradwire_engine.op import Op
from gradwire_engine.spec import DType
from gradwire_engine.tensor import Tensor as Value

NOT_DONE: Any = object()
"""The result of `recorded` where the call has to go the long way."""
_FEW = 16
"""Tensors that Python may have forgotten before anybody looks at which they are."""
_INSIDE = 3
"""Frames of this package above the user's, that there always are: of `users_place`, `recorded` and
the function that calls it."""
_PLAIN = frozenset({int, bool, str, type(None)})
_NO_ARRAYS: Mapping[str, np.ndarray] = {}
_new = object.__new__
_fallible: set[str] = set()
"""Ops that were seen to fail on elements: whether they do is asked at once."""


def recorded(  # noqa: C901 (one hot frame)
    session: Any,
    op: Op,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    adopt: Callable[..., Any],
    way: Callable[..., Any],
) -> Any:
    """Record an op and give its result; or give NOT_DONE, and nothing has happened.

    adopt: records what is more than one new tensor, as the long way does. way: the op's for such
    arguments.
    """
    state, dtype, name = local.state, DEFAULT[0], op.name
    if (
        type(session) is not Session
        or session._unusable is not None
        or session._later is not None
        or session._dtype is not dtype
        or state.anomaly
        or state.inference
        or state.default_dtype is not dtype
        or name in _fallible
    ):
        return NOT_DONE
    given: list[Any] = []
    sent: list[Any] = []
    if name == "__getitem__":
        if [*tensors_in(args[1:])]:
            return NOT_DONE
        given, sent = [args[0]._meta, args[1]], [args[0]._name, wire_index(args[1])]
    else:
        for arg in (*args, *kwargs.values()) if kwargs else args:
            if type(arg) is Tensor and arg.session is session:  # the commonest
                given.append(arg._meta)
                sent.append(arg._own_name.text)  # type: ignore[union-attr]
            elif not _take(session, arg, given, sent):
                return NOT_DONE
    with session._lock:
        before = state.device, state.generator, state.fallible
        try:
            state.device, state.generator, state.fallible = "meta", None, False
            if kwargs:
                count = len(args)
                result = way(*given[:count], **dict(zip(kwargs, given[count:], strict=True)))
            else:
                result = way(*given)
            if state.fallible:
                _fallible.add(name)
                return NOT_DONE
        except (GradwireError, AttributeError, TypeError):
            return NOT_DONE
        finally:
            state.device, state.generator, state.fallible = before
        mark = len(session.journal.entries)
        step: dict[str, Any] = {"op": name, "args": sent}
        if kwargs:
            step["args"], named = sent[: len(args)], sent[len(args) :]
            step["kwargs"] = dict(zip(kwargs, named, strict=True))
        other = type(result) is not Value
        for meta in given:
            if meta is result:
                other = True
        if other:
            return adopt(session, step, result, args, mark)
        names, pending = session.names, session._pending
        if len(names.gone) >= _FEW:
            names.forget_gone()
            if session._forgotten.many:
                session._record_free()
        made = _new(Tensor)
        made.session, made._meta = session, result
        made._grad = made._elements = None
        text = session._new_names.new()
        made._own_name = given_name = names.give(made, text, result.spec)
        if result.view is not None:
            note_base(made, args)
        step["out"] = text
        if not state.grad:
            step["grad_mode"] = "no_grad"
        of = ((text, given_name),)
        pending.recorded.append((step, users_place(_INSIDE), mark, of, _NO_ARRAYS))
        if result._array is not None:  # a view has its base's memory
            pending.nbytes += result._array.nbytes
        if len(pending.recorded) >= recorder.MAX_STEPS or pending.nbytes >= recorder.MAX_BYTES:
            session.flush()
    return made


def note_base(made: Tensor, args: Any) -> None:
    """Have a view know the tensor that it is one of: among its operands, or what those know."""
    view = getattr(made._meta, "view", None)  # in a batched walk it isn't a Meta
    if view is None or view.base is None:
        return
    if args and isinstance(args[0], Tensor):  # mostly
        first = args[0]._meta
        if first is view.base:
            made._seen = args[0]
            return
        outer = getattr(first, "view", None)
        if outer is not None and outer.base is view.base and hasattr(args[0], "_seen"):
            made._seen = args[0]._seen
            return
    for operand in tensors_in(args):
        for found in (operand, getattr(operand, "_seen", None)):
            if found is not None and found._meta is view.base:
                made._seen = found
                return


def _take(session: Session, arg: Any, given: list[Any], sent: list[Any]) -> bool:
    """Take an argument as rules see it and as it travels; whether that is simple."""
    kind = type(arg)
    if kind is Tensor or isinstance(arg, Tensor):
        if arg.session is not session:
            return False
        given.append(arg._meta)
        sent.append(arg._name)
    elif kind in _PLAIN or (kind is float and isfinite(arg)):
        given.append(arg)
        sent.append(arg)
    elif kind is DType:
        given.append(arg)
        sent.append(arg.name)
    elif kind is tuple or kind is list or kind is Size:
        items: list[Any] = []
        texts: list[Any] = []
        for item in arg:
            if not _take(session, item, items, texts):
                return False
        given.append(items if kind is list else tuple(items))
        sent.append(texts)
    else:
        return False
    return True


__all__ = ["NOT_DONE", "note_base", "recorded"]
