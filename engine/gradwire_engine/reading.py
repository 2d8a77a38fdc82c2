"""The two readings of derivative rules: on raw arrays (fast), and on tensors (create_graph).

A reading takes a node and the cotangent of its output, runs the node's rules, and adds what they
give to what is pending at the node's edges. Broadcasting and casting are undone here, once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.arrays import backend, halfway, phantom_of
from gradwire_engine.call import Call
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.kernels.shared import total
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.creation import full
from gradwire_engine.ops.expand import sum_to_shape
from gradwire_engine.recipe import Recipe
from gradwire_engine.rule import NOT_IMPLEMENTED, unknown
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.spec import Shape, Spec
from gradwire_engine.symbol import SYMBOLIC
from gradwire_engine.tape import (
    AccumulateGrad,
    Edge,
    GradientEdge,
    Node,
    Output,
    target,
)
from gradwire_engine.tape import place as output_of
from gradwire_engine.tensor import DETACHED, Tensor

Pending = dict[Any, Any]
"""What arrived so far: by edge; for a node with several outputs a dict by output number."""

Useful = set[Any] | None
"""The nodes and leaves that a gradient is wanted for, or lead there; None: all."""


_CONSTANT = 2**14
"""Bytes of what a trace keeps of what is made of nothing."""


class Reading(NamedTuple):
    """How a walk reads rules: how values come in, what a node does, how values go out.

    charges: the meter is asked by the ops that rules are made of, not by the walk.
    parts: the operands' gradients that a step would add, by place, for who looks at them; None
    where there are no values to look at, so that no hook runs either. shown: a value as hooks see
    it, where that is not what goes out.
    """

    cotangent: Callable[[Tensor], Any]
    step: Callable[[Node, Recipe, Any, Pending, Useful], None]
    tensor: Callable[[Any, Spec], Tensor]
    charges: bool
    parts: Callable[[Node, Recipe, Any, Useful], list[tuple[int, Any]]] | None = None
    shown: Callable[[Any, Spec], Any] | None = None


def zeros(spec: Spec) -> Tensor:
    """A zero gradient, where one is to be made up."""
    return _filled(spec, 0)


def ones(spec: Spec) -> Tensor:
    """The implicit cotangent of a scalar output."""
    return _filled(spec, 1)


def _filled(spec: Spec, value: int) -> Tensor:
    if spec.device == "meta":
        return Tensor(phantom_of(spec), spec, None).in_mode()
    if spec.device == SYMBOLIC and spec.nbytes > _CONSTANT:  # made as it runs, and not now
        return full(spec.shape, value, dtype=spec.dtype, device=SYMBOLIC)  # type: ignore[no-any-return]
    found = backend(spec.device)
    array = found.xp.empty(spec.shape, spec.dtype.numpy)
    array.fill(value)  # `full` does the same in ten times as much Python
    array = found.from_numpy(array) if spec.device == SYMBOLIC else array
    return Tensor(array, spec, None).in_mode()


def add_pending(pending: Pending, edge: Edge, g: Any) -> None:
    """Sum a cotangent into what waits at an edge."""
    if type(edge) is Output:
        waiting = pending.setdefault(edge.node, {})
        old = waiting.get(edge.index)
        waiting[edge.index] = g if old is None else _sum(edge, old, g)
        return
    old = pending.get(edge)
    pending[edge] = g if old is None else _sum(edge, old, g)


def _sum(edge: Any, old: Any, g: Any) -> Any:
    """Both, in the form that the tensor had first, where one of them comes in another."""
    if getattr(old, "shape", None) == getattr(g, "shape", None):
        return total(old, g)
    wanted = GradientEdge(target(edge), output_of(edge)).spec.shape
    return total(in_form(wanted, old), in_form(wanted, g))


def in_form(wanted: Shape, g: Any) -> Any:
    """A gradient in the form that the tensor had first; refused where it broadcasts to no such."""
    pairs = zip(reversed(wanted), reversed(g.shape), strict=False)
    if len(wanted) > len(g.shape) or not all(n in (1, m) for n, m in pairs):
        raise error(
            "shape_mismatch",
            f"backward: a gradient of shape {list(g.shape)} came to a tensor that had the shape "
            f"{list(wanted)} when it was used first, and was given another one in place",
            "make a view of it instead, or drop what was made of it before",
        )
    return sum_to_shape(g, wanted)


def wanted_here(edge: Edge | None, useful: Useful) -> bool:
    """Whether a gradient for this edge is asked for."""
    if edge is None:
        return False
    return useful is None or (edge.node if type(edge) is Output else edge) in useful


def refuse_underived(recipe: Any) -> None:
    """Refuse to walk on from an op that torch records, though it has no derivative of it."""
    if recipe.call.name == NOT_IMPLEMENTED:
        unknown(recipe.call.op.name, "input")["input"](None)


def _modified(node: Node) -> GradwireError:
    for place, saved, version in zip(
        node.recipe.saved, node.saved, node.versions or (), strict=True
    ):
        if type(saved) is Tensor and saved.version != version:
            which = f"operand {place}" if place >= 0 else f"result {~place}"
            which = which if place < len(node.edges) else "a tensor"
            break
    return error(
        "modified_in_place",
        f"backward: {which} ({saved.spec}), saved by {node.describe()}, "
        f"was modified in place: it is at version {saved.version}, "
        f"expected version {version}",
        "clone() it before the in-place op, or use the op that is not in place",
    )


def saved_values(node: Node) -> list[Any]:
    """The arrays of what a node saved, if nobody wrote to them since."""
    versions = node.versions
    if versions is None:
        raise error(
            "graph_freed",
            f"backward: the saved tensors of {node.describe()} were freed by an earlier backward",
            "pass retain_graph=true to the first call",
        )
    values = []
    for saved, version in zip(node.saved, versions):  # noqa: B905 (hot, and made together)
        if type(saved) is not Tensor:
            values.append(saved)
        elif (storage := saved._storage) is None:
            values.append(saved._array)
        elif storage.version == version:
            if saved.flags & DETACHED:
                _refuse_detached(node, saved)
            values.append(storage.array if saved.view is None else saved.array)
        else:
            raise _modified(node)
    return values


def _refuse_detached(node: Node, saved: Tensor) -> None:
    """Refuse a saved operand that had a history then, and lost it in place since.

    Where torch saves a view of it, that has its history still.
    """
    call = node.recipe.call
    for place, tensor in zip(node.recipe.saved, node.saved, strict=True):
        had = node.edges[place] if tensor is saved and place >= 0 else None
        lost = had is not None and type(had) is not AccumulateGrad and saved.edge is not had
        if lost and call.op.takes_itself(call.inputs, place):
            raise error(
                "modified_in_place",
                f"backward: operand {place}, saved by {node.describe()}, was detached in place",
                "use detach(), which leaves the tensor as it is",
            )


def _raw_step(  # noqa: C901 (one hot frame)
    node: Node, recipe: Recipe, g: Any, pending: Pending, useful: Useful
) -> None:
    if recipe.simple:  # the commonest node: one rule, which needs at most one saved value
        step = recipe.steps[0]
        edge: Any = node.edges[step.target]
        if useful is not None and (edge.node if type(edge) is Output else edge) not in useful:
            if recipe.saved:  # asked for itself: it runs, and goes no further
                saved_values(node)
            return
        if not step.arguments:
            part = step.function(g)
        else:
            saved = node.saved[0] if node.saved else None
            if type(saved) is Tensor and saved._storage is None:
                part = step.function(g, saved._array)
            else:
                part = step.function(g, saved_values(node)[0])
        if part.shape != step.shape or (part.dtype is not step.dtype and part.dtype != step.dtype):
            part = _fit_raw(part, recipe.call.inputs[step.target])
        # here and below what add_pending does first, without its three calls
        if type(edge) is not Output and (
            (old := pending.get(edge)) is None or old.shape == part.shape
        ):
            pending[edge] = part if old is None else total(old, part)
        else:
            add_pending(pending, edge, part)
        return
    if not recipe.plain:
        _general_step(_RAW, node, recipe, g, pending, useful)
        return
    values = saved_values(node) if recipe.saved else ()
    edges = node.edges
    for step in recipe.steps:
        edge = edges[step.target]
        if useful is not None and (edge.node if type(edge) is Output else edge) not in useful:
            continue
        part = step.function(g, *[values[i] for i in step.arguments])
        if part.shape != step.shape or (part.dtype is not step.dtype and part.dtype != step.dtype):
            part = _fit_raw(part, recipe.call.inputs[step.target])
        if type(edge) is not Output and (
            (old := pending.get(edge)) is None or old.shape == part.shape
        ):
            pending[edge] = part if old is None else total(old, part)
        else:
            add_pending(pending, edge, part)


def _recorded_values(node: Node) -> list[Any]:
    """Saved operands with the edges they had, saved results with an edge to this node.

    A leaf that stopped recording is a constant, where torch saves it itself and not a view of it.
    """
    saved_values(node)
    call = node.recipe.call
    values = []
    for place, saved in zip(node.recipe.saved, node.saved, strict=True):
        if type(saved) is not Tensor:
            values.append(saved)
            continue
        edge = saved.edge
        if place < 0 and saved.spec.dtype.differentiable:
            edge = node if call.single else Output(node, ~place)
        elif 0 <= place < len(node.edges) and (had := node.edges[place]) is not None:
            leaf = type(had) is AccumulateGrad and had.leaf() is saved
            stopped = edge is None and leaf
            edge = None if stopped and call.op.takes_itself(call.inputs, place) else had
        values.append(saved if saved.edge is edge else saved.alias(edge))
    return values


class _Ways(NamedTuple):
    """What differs between the readings in the general step. values: of what a node saved."""

    cotangent: Callable[[Tensor], Any]
    values: Callable[[Node], list[Any]]
    run: Callable[[Recipe, Callable[..., Any], list[Any]], Any]
    fit: Callable[[Any, Spec], Any]


def _general_step(
    ways: _Ways, node: Node, recipe: Recipe, g: Any, pending: Pending, useful: Useful
) -> None:
    """Run the rules of a node that may have several outputs, list operands or half dtypes."""
    edges: Any = node.edges
    for place, part in _general_parts(ways, node, recipe, g, useful):
        add_pending(pending, edges[place], part)


def _general_parts(
    ways: _Ways, node: Node, recipe: Recipe, g: Any, useful: Useful
) -> list[tuple[int, Any]]:
    call, edges = recipe.call, node.edges
    values = ways.values(node) if recipe.saved else []
    found = []
    for step in recipe.steps:
        wanted = [  # what `wanted_here` says, without its calls in a hot loop
            place
            for place in step.targets
            if (edge := edges[place]) is not None
            and (useful is None or (edge.node if type(edge) is Output else edge) in useful)
        ]
        if not (wanted or call.op.refused):
            continue
        arguments = _cotangents(call, step.cotangents, g, ways)
        arguments += [values[place] for place in step.arguments]
        result = ways.run(recipe, step.function, arguments)
        for place, part in zip(step.targets, result if step.several else (result,), strict=True):
            if part is not None and place in wanted:
                found.append((place, ways.fit(part, call.inputs[place])))
    return found


def _cotangents(call: Call, wanted: tuple[int, ...], g: Any, ways: _Ways) -> list[Any]:
    """The cotangents a rule asks for, zeros where none came; for `many` ops all, in one tuple."""
    if call.single:
        return [g] if wanted else []
    every = range(len(call.outputs)) if call.op.many else wanted
    found = [g[i] if i in g else _absent(call, i, ways) for i in every]
    return [tuple(found)] if call.op.many else found


def _absent(call: Call, index: int, ways: _Ways) -> Any:
    """What a rule gets for an output that no gradient came to."""
    if not (call.fills_in and call.op.fills_in):
        return None
    return ways.cotangent(zeros(call.outputs[index]))


def _widened(value: Any) -> Any:
    """Half arrays as float32: rules run where the op accumulates."""
    if type(value) in (list, tuple):
        return type(value)(map(_widened, value))
    dtype = getattr(value, "dtype", None)
    half = dtype is not None and dtype.itemsize == 2 and dtype.kind in "fV"
    return value.astype(np.float32) if half else value


def _run_raw(recipe: Recipe, function: Callable[..., Any], arguments: list[Any]) -> Any:
    return function(*map(_widened, arguments)) if recipe.half else function(*arguments)


def _fit_raw(g: Any, spec: Spec) -> Any:
    """Undo broadcasting and casting: the gradient gets the operand's shape and dtype."""
    if type(g) in (int, float, complex):
        return backend(spec.device).xp.full(spec.shape, g, spec.dtype.numpy)
    if g.shape != spec.shape:
        g = sum_to_shape(g, spec.shape)
    dtype = spec.dtype.numpy
    if g.dtype != dtype:
        if g.dtype.kind == "c" and dtype.kind != "c":
            g = g.real
        g = halfway(g, dtype).astype(dtype)
    return g


def fit(g: Any, spec: Spec) -> Any:
    """The same for a gradient that is a value, or a number."""
    if type(g) not in VALUE_TYPES:
        g = Tensor.of(np.asarray(g), device=spec.device)
    if g.shape != spec.shape:
        g = sum_to_shape(g, spec.shape)
    return g if g.dtype is spec.dtype else to_dtype(g, spec.dtype)


def _tensor_raw(g: Any, spec: Spec) -> Tensor:
    """A cotangent as the tensor that is handed out, row-major."""
    xp = backend(spec.device).xp
    return Tensor(xp.ascontiguousarray(g) if g.shape else xp.asarray(g), spec, None).in_mode()


def _array(tensor: Tensor) -> Any:
    return tensor.array


def _itself(tensor: Tensor) -> Any:
    return tensor


_RAW = _Ways(_array, saved_values, _run_raw, _fit_raw)
_RECORDED = _Ways(_itself, _recorded_values, lambda _, function, given: function(*given), fit)

raw = Reading(_array, _raw_step, _tensor_raw, charges=False, parts=partial(_general_parts, _RAW))
recorded = Reading(
    _itself,
    partial(_general_step, _RECORDED),
    lambda g, spec: g,
    charges=True,
    parts=partial(_general_parts, _RECORDED),
)
