"""The walk: one iterative pass over the nodes, newest first, in either of two readings.

`raw` runs the rules on arrays; `recorded` runs them on tensors, so that the gradients have a graph
of their own (create_graph). The loop knows neither ops nor arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.arrays import backend, phantom_of
from gradwire_engine.call import Call, Recipe
from gradwire_engine.errors import error
from gradwire_engine.journal import assign
from gradwire_engine.mode import local
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.expand import sum_to_shape
from gradwire_engine.spec import Spec
from gradwire_engine.tape import FREED, AccumulateGrad, Edge, Node, Output
from gradwire_engine.tensor import RETAINS, Storage, Tensor


class Reading(NamedTuple):
    """How a walk reads rules: on what it runs them and how values come in and out."""

    cotangent: Callable[[Tensor], Any]
    unpack: Callable[[Node], list[Any]]
    run: Callable[[Recipe, Callable[..., Any], list[Any]], Any]
    fit: Callable[[Any, Spec], Any]
    tensor: Callable[[Any, Spec], Tensor]


def ones(spec: Spec) -> Tensor:
    """The implicit cotangent of a scalar output."""
    if spec.device == "meta":
        return Tensor(Storage(phantom_of(spec)), spec, None)
    xp = backend(spec.device).xp
    return Tensor(Storage(xp.ones(spec.shape, spec.dtype.numpy)), spec, None)


def zeros(spec: Spec) -> Tensor:
    """A zero gradient, where one is to be made up."""
    if spec.device == "meta":
        return Tensor(Storage(phantom_of(spec)), spec, None)
    xp = backend(spec.device).xp
    return Tensor(Storage(xp.zeros(spec.shape, spec.dtype.numpy)), spec, None)


def walk(
    roots: Sequence[tuple[Edge, Any]],
    reading: Reading,
    keep: bool,
    *,
    captures: Sequence[Edge] | None = None,
    accumulating: bool = False,
) -> dict[Any, Any]:
    """Carry cotangents from the roots down; what arrived at each captured edge.

    keep: leave the saved tensors where they are. accumulating: add into `.grad` of the leaves,
    after the whole walk has gone well.
    """
    wanted = None if captures is None else {_key(e) for e in captures}
    order = _order([edge for edge, _ in roots], wanted)
    pending: dict[Any, Any] = {}
    for edge, g in roots:
        _add(pending, edge, g)
    found: dict[Any, Any] = {}
    retained: list[tuple[Tensor, Any]] = []
    for node in order:
        g = pending.pop(node, None)
        if g is None:
            continue
        recipe = node.recipe
        if wanted is not None:
            _capture(node, g, recipe, wanted, found)
        if node.extra is not None and node.extra.retains:
            _retain(node, g, recipe, retained)
        _step(node, recipe, g, pending, reading)
    leaves = {e: g for e, g in pending.items() if type(e) is AccumulateGrad}
    if not keep:
        for node in order:
            if node.saved:
                assign(node, "saved", FREED)
                assign(node, "versions", None)
    for tensor, g in retained:
        accumulate(tensor, g, reading, local.state.grad)
    if accumulating:
        for edge, g in leaves.items():
            leaf = edge.leaf()
            if leaf is not None and leaf.requires_grad:
                accumulate(leaf, g, reading, local.state.grad)
    elif wanted is not None:
        found.update((e, g) for e, g in leaves.items() if e in wanted)
    return found


def _key(edge: Edge) -> Any:
    return (edge.node, edge.index) if type(edge) is Output else edge


def _order(starts: list[Edge], wanted: set[Any] | None) -> list[Node]:
    """The nodes to walk, newest first: all that can be reached, or those that lead to captures."""
    seen: set[Any] = set()
    stack: list[Any] = [e.node if type(e) is Output else e for e in starts]
    nodes: list[Node] = []
    while stack:
        node = stack.pop()
        if node in seen or type(node) is not Node:
            continue
        seen.add(node)
        nodes.append(node)
        for edge in node.edges:
            if edge is not None:
                stack.append(edge.node if type(edge) is Output else edge)
    nodes.sort(key=attrgetter("seq"), reverse=True)
    return nodes if wanted is None else _leading_to(nodes, wanted)


def _leading_to(nodes: list[Node], wanted: set[Any]) -> list[Node]:
    targets = {key[0] if type(key) is tuple else key for key in wanted}
    useful: set[Any] = set(targets)
    for node in reversed(nodes):
        for edge in node.edges:
            if (edge.node if type(edge) is Output else edge) in useful:
                useful.add(node)
                break
    return [node for node in nodes if node in useful]


def _add(pending: dict[Any, Any], edge: Edge, g: Any) -> None:
    """Sum a cotangent into what waits at an edge; several outputs wait in a dict by index."""
    if type(edge) is Output:
        waiting = pending.setdefault(edge.node, {})
        edge, pending = edge.index, waiting  # type: ignore[assignment]
    old = pending.get(edge)
    pending[edge] = g if old is None else old + g


def _capture(node: Node, g: Any, recipe: Recipe, wanted: set[Any], found: dict[Any, Any]) -> None:
    if recipe.call.single:
        if node in wanted:
            found[node] = g
        return
    for index, part in g.items():
        if (node, index) in wanted:
            found[(node, index)] = part


def _retain(node: Node, g: Any, recipe: Recipe, retained: list[tuple[Tensor, Any]]) -> None:
    assert node.extra is not None
    for index, reference in node.extra.retains:
        tensor = reference()
        part = g if recipe.call.single else g.get(index)
        if tensor is not None and part is not None and tensor.flags & RETAINS:
            retained.append((tensor, part))


def _step(
    node: Node, recipe: Recipe, g: Any, pending: dict[Any, Any], reading: Reading
) -> None:
    """Run the rules of one node and hand their results on."""
    values = reading.unpack(node) if recipe.saved else ()
    call, edges = recipe.call, node.edges
    for step in recipe.steps:
        args = _arguments(call, step.cotangents, g, reading)
        for place in step.arguments:
            args.append(values[place])
        result = reading.run(recipe, step.function, args)
        targets = step.targets
        for place, part in zip(targets, result if step.several else (result,), strict=True):
            edge = edges[place]
            if edge is None or part is None:
                continue
            _add(pending, edge, reading.fit(part, call.inputs[place]))


def _arguments(call: Call, wanted: tuple[int, ...], g: Any, reading: Reading) -> list[Any]:
    """The cotangents a rule asks for, zeros where none came; for `many` ops all, in one tuple."""
    if call.single:
        return [g] if wanted else []
    every = range(len(call.outputs)) if call.op.many else wanted
    found = [
        g[i] if i in g else reading.cotangent(zeros(call.outputs[i])) for i in every
    ]
    return [tuple(found)] if call.op.many else found


def accumulate(
    tensor: Tensor, g: Any, reading: Reading, create_graph: bool
) -> None:
    """Add a gradient into `.grad`: into the same tensor unless a graph of it is wanted."""
    made = reading.tensor(g, tensor.spec)
    old = tensor.grad
    if old is None:
        assign(tensor, "grad", made)
    elif create_graph:
        assign(tensor, "grad", old + made)  # type: ignore[operator]
    else:
        storage = old.storage
        if old.view is None and tensor.spec.device != "meta":
            assign(storage, "array", old.array + made.array)
        assign(storage, "version", storage.version + 1)


# the two readings


def _check_versions(node: Node) -> None:
    versions = node.versions
    if versions is None:
        raise error(
            "graph_freed",
            f"backward: the saved tensors of {node.describe()} were freed by an earlier backward",
            "pass retain_graph=true to the first call",
        )
    for place, saved, version in zip(node.recipe.saved, node.saved, versions, strict=True):
        if type(saved) is Tensor and saved.storage.version != version:
            which = f"operand {place}" if place >= 0 else f"result {~place}"
            raise error(
                "modified_in_place",
                f"backward: {which} ({saved.spec}), saved by {node.describe()}, "
                f"was modified in place: it is at version {saved.storage.version}, "
                f"expected version {version}",
                "clone() it before the in-place op, or use the op that is not in place",
            )


def _unpack_raw(node: Node) -> list[Any]:
    _check_versions(node)
    values = [s.array if type(s) is Tensor else s for s in node.saved]
    return [_widened(v) for v in values] if node.recipe.half else values


def _unpack_recorded(node: Node) -> list[Any]:
    """Saved operands with the edges they had, saved results with an edge to this node."""
    _check_versions(node)
    values = []
    for place, saved in zip(node.recipe.saved, node.saved, strict=True):
        if type(saved) is not Tensor:
            values.append(saved)
            continue
        if place >= 0:
            edge = node.edges[place]
            if edge is None and saved.edge is not None and not node.recipe.call.ruled[place]:
                edge = saved.edge
        else:
            edge = node if node.recipe.call.single else Output(node, ~place)
        values.append(saved if saved.edge is edge else saved.alias(edge))
    return values


def _widened(value: Any) -> Any:
    """A half array as float32: rules run where the op accumulates."""
    dtype = getattr(value, "dtype", None)
    return value.astype(np.float32) if dtype is not None and _is_half(dtype) else value


def _is_half(dtype: Any) -> bool:
    return bool(dtype.itemsize == 2 and dtype.kind in "fV")


def _run_raw(recipe: Recipe, function: Callable[..., Any], args: list[Any]) -> Any:
    return function(*[_widened(a) for a in args]) if recipe.half else function(*args)


def _run_recorded(recipe: Recipe, function: Callable[..., Any], args: list[Any]) -> Any:
    return function(*args)


def _fit_raw(g: Any, spec: Spec) -> Any:
    """Undo broadcasting and casting: the gradient gets the operand's shape and dtype."""
    if g.shape != spec.shape:
        g = sum_to_shape(g, spec.shape)
    dtype = spec.dtype.numpy
    if g.dtype != dtype:
        if g.dtype.kind == "c" and dtype.kind != "c":
            g = g.real
        g = g.astype(dtype)
    return g


def _fit_recorded(g: Any, spec: Spec) -> Any:
    if type(g) is not Tensor:
        g = Tensor.of(np.asarray(g), device=spec.device)
    if g.shape != spec.shape:
        g = sum_to_shape(g, spec.shape)
    return g if g.dtype is spec.dtype else to_dtype(g, spec.dtype)


def _tensor_raw(g: Any, spec: Spec) -> Tensor:
    """A cotangent as the tensor that is handed out, row-major."""
    xp = backend(spec.device).xp
    return Tensor(Storage(xp.ascontiguousarray(g) if g.shape else xp.asarray(g)), spec, None)


raw = Reading(
    cotangent=lambda t: t.array,
    unpack=_unpack_raw,
    run=_run_raw,
    fit=_fit_raw,
    tensor=_tensor_raw,
)
recorded = Reading(
    cotangent=lambda t: t,
    unpack=_unpack_recorded,
    run=_run_recorded,
    fit=_fit_recorded,
    tensor=lambda g, spec: g,
)
