"""Steps that walk the graph: backward and grad, with every option."""

from __future__ import annotations

from typing import Any

from tests.parity.differential.kinds.registry import kind
from tests.parity.differential.step import Fresh, Ref, Step
from tests.parity.differential.world import World, floating, function, method, recording


def _root(w: World) -> Ref | None:
    scalar = w.chance(0.3)
    return w.any(lambda t: recording(t) and (t.numel() == 1 or not scalar))


def _cotangent(w: World, root: Ref, options: dict[str, Any]) -> Any:
    """One for a root: none where a number is implied, most of the time."""
    x = w.get(root)
    if x.numel() == 1 and not x.dtype.is_complex and w.chance(0.7):
        return None
    if w.chance(0.04):
        return None
    found = w.any(lambda t: t.shape == x.shape and t.dtype == x.dtype)
    return Fresh((found or root).name, not options.get("create_graph"))


def _keeping(w: World) -> dict[str, Any]:
    """retain_graph and create_graph, in any combination; mostly the graph is kept."""
    found: dict[str, Any] = {}
    if w.chance(0.65):
        found["retain_graph"] = w.chance(0.85)
    if w.chance(0.3):
        found["create_graph"] = w.chance(0.85)
    return found


@kind("backward", 7)
def backward(w: World) -> Step | None:
    root = _root(w)
    if root is None:
        return None
    options = _keeping(w)
    given = _cotangent(w, root, options)
    if w.chance(0.25):
        options["inputs"] = _inputs(w)
    return method("backward", "backward", root, *(() if given is None else (given,)), **options)


def _inputs(w: World) -> list[Ref]:
    found = [w.any(recording) for _ in range(w.whole(1, 2))]
    return [x for x in found if x is not None]


@kind("backward of several", 2)
def backward_of_several(w: World) -> Step | None:
    roots = _roots(w)
    if not roots:
        return None
    options = _keeping(w)
    if w.chance(0.3):
        options["inputs"] = _inputs(w)
    given = [_cotangent(w, root, options) for root in roots]
    return function("backward of several", "autograd.backward", roots, given, **options)


def _roots(w: World) -> list[Ref]:
    found = [_root(w) for _ in range(w.whole(2, 3))]
    return [x for x in found if x is not None]


def _grad_options(w: World) -> dict[str, Any]:
    found = _keeping(w)
    if w.chance(0.7):
        found["allow_unused"] = w.chance(0.9)
    if w.chance(0.25):
        found["materialize_grads"] = w.chance(0.8)
    return found


@kind("grad", 7)
def grad(w: World) -> Step | None:
    root = _root(w)
    if root is None:
        return None
    x = w.any(recording) if w.chance(0.95) else w.any(floating)
    options = _grad_options(w)
    return _grad(w, "grad", root, x, _cotangent(w, root, options), options)


@kind("grad of several", 2)
def grad_of_several(w: World) -> Step | None:
    roots = _roots(w)
    if not roots:
        return None
    options = _grad_options(w)
    given = [_cotangent(w, root, options) for root in roots]
    return _grad(w, "grad of several", roots, _inputs(w), given, options)


def _grad(w: World, as_kind: str, root: Any, x: Any, given: Any, options: dict[str, Any]) -> Step:
    outs = tuple(w.name() for _ in range(len(x) if isinstance(x, list) else 1))
    args = (root, x) if given is None else (root, x, given)
    return Step(as_kind, "function", "autograd.grad", args, tuple(options.items()), outs)
