"""Steps about hooks: on tensors, on leaves after accumulation, on nodes, and their removal."""

from __future__ import annotations

from typing import Any

from tests.parity.differential.kinds.registry import kind
from tests.parity.differential.step import Hook, Ref, Step
from tests.parity.differential.world import World, recording

_OF_TENSORS = ("double", "keep", "tanh", "wider", "minus")
_REFUSED = ("misshapen", "other dtype", "no tensor", "raises")
"""Hooks whose walks fail: few, for nothing else walks through a tensor that has one."""


def _of_a_gradient(w: World) -> Hook:
    return Hook(w.one(_REFUSED if w.chance(0.04) else _OF_TENSORS))


def _is_changed_view(x: Any) -> bool:
    return bool(recording(x) and not x.is_leaf and (x._is_view() or x._version))


@kind("hook", 4)
def hook(w: World) -> Step | None:
    x = w.any(recording)
    if x is None:
        return None
    return Step("hook", "method", "register_hook", (x, _of_a_gradient(w)), (), (w.name(),))


@kind("hook of a view or a written tensor", 2)
def hook_of_a_view(w: World) -> Step | None:
    x = w.strictly(_is_changed_view)
    if x is None:
        return None
    as_kind = "hook of a view or a written tensor"
    return Step(as_kind, "method", "register_hook", (x, _of_a_gradient(w)), (), (w.name(),))


@kind("hook of a leaf", 2.5)
def hook_of_a_leaf(w: World) -> Step | None:
    x = w.any(lambda t: t.is_leaf and t.requires_grad)
    if x is None:
        return None
    what = Hook(w.one(("halve the gradient", "take the gradient", "look at the gradient")))
    name = "register_post_accumulate_grad_hook"
    return Step("hook of a leaf", "method", name, (x, what), (), (w.name(),))


@kind("hook of a node", 2.5)
def hook_of_a_node(w: World) -> Step | None:
    x = w.any(lambda t: t.grad_fn is not None)
    if x is None:
        return None
    before = w.chance(0.5)
    hooks = ("double all",) if before else ("keep both", "double all of both")
    name = "register_prehook" if before else "register_hook"
    return Step("hook of a node", "node", name, (x, Hook(w.one(hooks))), (), (w.name(),))


@kind("hook removed", 3)
def hook_removed(w: World) -> Step | None:
    handles = [name for name, value in w.variables.items() if hasattr(value, "remove")]
    if not handles:
        return None
    return Step("hook removed", "method", "remove", (Ref(w.one(handles)),))
