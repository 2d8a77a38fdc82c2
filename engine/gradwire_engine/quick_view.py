"""The short way for views of one tensor: what `apply` does for them, without its generality."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire_engine.arrays import NAMESPACE_OF
from gradwire_engine.call import CACHE_SIZE, Call
from gradwire_engine.mode import local
from gradwire_engine.op import HOST, Primitive
from gradwire_engine.recipe import Recipe
from gradwire_engine.tape import Node, next_seq
from gradwire_engine.tensor import INFERENCE, LONG_CHAIN, TURNED, Tensor, View


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


def short_view(op: Primitive) -> Callable[..., Any]:  # noqa: C901 (one hot frame)
    """A view primitive with all its arguments given; specs and attributes seen before go fast."""
    calls: dict[Any, tuple[Call, Recipe | None, int | None]] = {}
    kernel, keywords = op.kernel, op.keywords

    def learn(key: Any, made: Any, turned: int) -> Any:
        if type(made) is Tensor and made.view is not None:
            if len(calls) >= CACHE_SIZE:
                calls.clear()
            call = made.view.chain[-1][0]
            differentiable = op.differentiable and call.differentiable
            recipe = call.recipe((True,)) if differentiable else None
            calls[key] = (call, recipe, None if turned else made.flags)
        return made

    def view(source: Any, *rest: Any) -> Any:
        if type(source) is HOST and not keywords:  # in a rule, on the walk back
            return kernel(NAMESPACE_OF[HOST], source, *rest)
        state, old = local.state, source.view if type(source) is Tensor else None
        plain = type(source) is Tensor and not (state.inference or source.flags & INFERENCE)
        if not plain or (old and old.creation != "alone"):
            return op.dispatch((source, *rest), {})
        key = (source.spec, rest)
        known = calls.get(key)
        turned = source.flags & TURNED
        if known is None or (known[2] is None and not turned):
            return learn(key, op.dispatch((source, *rest), {}), turned)
        call, recipe, flags = known
        storage, edge = source.storage, source.edge
        if edge is None and old is not None and source.requires_grad:
            return op.dispatch((source, *rest), {})
        node: Node | None = None
        if state.grad and edge is not None and recipe is not None:
            node = Node(recipe, (edge,), (), (), next_seq())
        array = call.run(source.array)
        chain = () if old is None else old.chain
        base = source if old is None else old.base
        mode, depth = "alone" if state.grad else "no_grad", None if old is None else old.depth
        if len(chain) >= LONG_CHAIN and state.meter is not None:
            state.meter.charge(8 * len(chain))
        seen = View((*chain, (call, 0)), base, mode, storage.version, depth)
        seen.array, seen.source = array, storage.array
        made = Tensor.sharing(storage, call.outputs[0], node, seen)
        if turned:
            return made.marked()
        made.flags = flags  # type: ignore[assignment]
        return made

    return view
