"""The short way for views of one tensor: what `apply` does for them, without its generality."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire_engine.arrays import NAMESPACE_OF
from gradwire_engine.call import CACHE_SIZE
from gradwire_engine.mode import local
from gradwire_engine.op import HOST, Primitive
from gradwire_engine.perform import viewing
from gradwire_engine.tensor import INFERENCE, TURNED, Tensor, View


def _one_of_several(source: Tensor, view: View) -> bool:
    """Whether it is a view beside others that one op made, and nobody wrote to them since."""
    return view.creation == "several" and view.version == source.version


def whole(tensor: Tensor) -> bool:
    """Whether a tensor with flags is as good as one without: its array and edge are at hand."""
    if tensor.flags & INFERENCE:
        return False
    view = tensor.view
    if view is None or view.base is None:
        return True
    leads_nowhere = tensor._edge is None and view.base.requires_grad
    return view.version == tensor.version and not leads_nowhere


def in_rows(tensor: Tensor) -> bool:
    """The same of an operand of an op whose results lie as that does: it must be row-major too."""
    return not tensor.flags & TURNED and whole(tensor)


def short_view(op: Primitive) -> Callable[..., Any]:
    """A view primitive with all its arguments given; specs and attributes seen before go fast."""
    calls: dict[Any, Callable[..., Tensor]] = {}
    get, kernel, keywords = calls.get, op.kernel, op.keywords

    def learn(key: Any, made: Any) -> Any:
        if type(made) is Tensor and made.view is not None:
            if len(calls) >= CACHE_SIZE:
                calls.clear()
            calls[key] = viewing(made.view.chain[-1][0])
        return made

    def view(source: Any, *rest: Any) -> Any:
        if type(source) is HOST and not keywords:  # in a rule, on the walk back
            return kernel(NAMESPACE_OF[HOST], source, *rest)
        state, old = local.state, source.view if type(source) is Tensor else None
        plain = type(source) is Tensor and not (state.inference or source.flags & INFERENCE)
        if not plain or (old and old.creation != "alone" and not _one_of_several(source, old)):
            return op.dispatch((source, *rest), {})
        key = (source.spec, rest)
        see = get(key)
        if see is None:
            return learn(key, op.dispatch((source, *rest), {}))
        if source.edge is None and old is not None and source.requires_grad:
            return op.dispatch((source, *rest), {})
        return see(state, source)

    return view
