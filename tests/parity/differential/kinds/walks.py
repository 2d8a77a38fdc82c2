"""Steps that walk the graph: backward and grad, with every option."""

from __future__ import annotations

from typing import Any

from tests.parity.differential.kinds.registry import kind
from tests.parity.differential.step import Edge, Fresh, Ref, Step
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
    if w.chance(0.25):
        return w.given(tuple(x.shape), _dtype(x))
    return Fresh((found or root).name, not options.get("create_graph"))


def _dtype(x: Any) -> str:
    return str(x.dtype).rpartition(".")[2]


def _keeping(w: World) -> dict[str, Any]:
    """retain_graph and create_graph, in any combination; mostly the graph is kept."""
    found: dict[str, Any] = {}
    if w.chance(0.65):
        found["retain_graph"] = w.chance(0.85) if w.chance(0.95) else None
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
    if given is not None and w.chance(0.2):
        return method("backward", "backward", root, gradient=given, **options)
    return method("backward", "backward", root, *(() if given is None else (given,)), **options)


def _inputs(w: World) -> Any:
    """What a walk is asked for: a sequence of tensors and their edges, or one of them."""
    found = [w.any(recording) for _ in range(w.whole(1, 2))]
    inputs: list[Any] = [x for x in found if x is not None]
    if w.chance(0.1):
        inputs = [_edge(w, x) for x in inputs]
    if len(inputs) == 1 and w.chance(0.3):
        return inputs[0]
    if w.chance(0.02):
        return []
    return tuple(inputs) if w.chance(0.2) else inputs


def _edge(w: World, x: Ref) -> Ref | Edge:
    return Edge(x.name) if w.chance(0.7) else x


@kind("backward of several", 2)
def backward_of_several(w: World) -> Step | None:
    roots = _roots(w)
    if not roots:
        return None
    options = _keeping(w)
    if w.chance(0.3):
        options["inputs"] = _inputs(w)
    given = [_cotangent(w, root, options) for root in roots]
    places = [_edge(w, root) for root in roots] if w.chance(0.1) else roots
    if w.chance(0.1):
        named = {"grad_tensors" if w.chance(0.6) else "grad_variables": given}
        return function("backward of several", "autograd.backward", places, **named, **options)
    return function("backward of several", "autograd.backward", places, given, **options)


def _roots(w: World) -> list[Ref]:
    found = [_root(w) for _ in range(w.whole(2, 3))]
    return [x for x in found if x is not None]


def _grad_options(w: World) -> dict[str, Any]:
    found = _keeping(w)
    if w.chance(0.7):
        found["allow_unused"] = w.chance(0.9)
    if w.chance(0.25):
        found["materialize_grads"] = w.chance(0.8)
    if w.chance(0.15):
        found["only_inputs"] = w.chance(0.7)
    if w.chance(0.15):
        found["is_grads_batched"] = False
    return found


@kind("grad", 7)
def grad(w: World) -> Step | None:
    root = _root(w)
    if root is None:
        return None
    options = _grad_options(w)
    if w.chance(0.15):
        return _grad(w, "grad", root, _inputs(w), _cotangent(w, root, options), options)
    x = w.any(recording) if w.chance(0.95) else w.any(floating)
    if x is not None and w.chance(0.08):
        named = {"x": x, "y": w.any(recording) or x}
        return _grad(w, "grad", root, named, _cotangent(w, root, options), options)
    return _grad(w, "grad", root, x, _cotangent(w, root, options), options)


@kind("grad of several", 2)
def grad_of_several(w: World) -> Step | None:
    roots = _roots(w)
    if not roots:
        return None
    options = _grad_options(w)
    given = [_cotangent(w, root, options) for root in roots]
    places = [_edge(w, root) for root in roots] if w.chance(0.1) else roots
    return _grad(w, "grad of several", places, _inputs(w), given, options)


@kind("grad of a batch", 2.5)
def grad_of_a_batch(w: World) -> Step | None:
    """is_grads_batched: the first axis of each cotangent counts examples."""
    roots = [_root(w) for _ in range(1 if w.chance(0.8) else 2)]
    if None in roots:
        return None
    options = _grad_options(w) | {"is_grads_batched": True}
    rows = w.whole(1, 3)
    given = [_batch(w, root, rows, options) for root in roots if root is not None]
    inputs = _inputs(w)
    if len(roots) == 1 and w.chance(0.5):
        return _grad(w, "grad of a batch", roots[0], inputs, given[0], options)
    return _grad(w, "grad of a batch", roots, inputs, given, options)


def _batch(w: World, root: Ref, rows: int, options: dict[str, Any]) -> Any:
    """Cotangents for a root, an example a row; seldom of another number, or none."""
    x = w.get(root)
    if w.chance(0.03):
        return None
    found = w.any(lambda t: t.shape[1:] == x.shape and t.ndim and t.dtype == x.dtype)
    if found is not None and w.chance(0.3):
        return found if w.chance(0.5) else Fresh(found.name, not options.get("create_graph"))
    rows = rows if w.chance(0.96) else rows + 1
    return w.given((rows, *x.shape), _dtype(x))


def _grad(w: World, as_kind: str, root: Any, x: Any, given: Any, options: dict[str, Any]) -> Step:
    outs = tuple(w.name() for _ in range(len(x) if isinstance(x, list | tuple | dict) else 1))
    if given is not None and w.chance(0.15):
        options = {"grad_outputs": given, **options}
        given = None
    args = (root, x) if given is None else (root, x, given)
    return Step(as_kind, "function", "autograd.grad", args, tuple(options.items()), outs)
