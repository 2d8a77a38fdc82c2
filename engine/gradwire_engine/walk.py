"""The walk: one iterative pass over the nodes, newest first; it knows neither ops nor arrays.

A node's operands were made before it, so by creation order everything that flows into a node has
arrived when its turn comes. Nothing of the graph or of `.grad` is touched before the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.hooks import Retained, accumulated, arrived, careful_step
from gradwire_engine.inplace import write
from gradwire_engine.journal import assign, transaction
from gradwire_engine.layout import laid_as
from gradwire_engine.mode import local
from gradwire_engine.ops.cast import clone
from gradwire_engine.ops.expand import expand
from gradwire_engine.overlap import dense
from gradwire_engine.reading import (
    Pending,
    Reading,
    Useful,
    add_pending,
    in_form,
    recorded,
    refuse_underived,
    saved_values,
)
from gradwire_engine.spec import Shape
from gradwire_engine.tape import FREED, TENSOR, AccumulateGrad, Edge, Node, Output, target
from gradwire_engine.tensor import Tensor
from gradwire_engine.unreached import nothing_came, nothing_goes_on
from gradwire_engine.written import keeper, keeps_nothing


def walk(
    roots: Sequence[tuple[Edge, Any]],
    reading: Reading,
    keep: bool,
    *,
    wanted: Sequence[Edge] | None = None,
    into_grad: bool,
) -> dict[Any, Any]:
    """Carry cotangents from the roots down.

    wanted: go only where these edges are, to see what arrives there; None: to all leaves.
    into_grad: what arrives at leaves is added into their `.grad` after the whole walk has gone
    well, where hooks wait for it at once, all or nothing. Otherwise what arrives at the wanted
    edges is the result, by `edge_key`. keep: leave the saved tensors where they are.
    """
    order, hooked = _reachable([edge for edge, _ in roots])
    ends = None if wanted is None else {target(edge) for edge in wanted}
    state = local.state
    before, state.recomputed = state.recomputed, {}
    try:
        if not (hooked and into_grad):
            return _finished(order, roots, reading, keep, ends, into_grad)
        with transaction():
            return _finished(order, roots, reading, keep, ends, into_grad)
    except GradwireError as problem:
        problem.walked = True
        raise
    finally:
        state.recomputed = before


def _finished(
    order: list[Any],
    roots: Sequence[tuple[Edge, Any]],
    reading: Reading,
    keep: bool,
    ends: set[Any] | None,
    into_grad: bool,
) -> dict[Any, Any]:
    """Walk, and then do what waits for the walk to go well."""
    found, pending, walked = _walk(order, roots, reading, ends, into_grad)
    waiting = pending if ends is None else {e: g for e, g in pending.items() if e in ends}
    for edge in [e for e, g in waiting.items() if _reformed(e, g)]:
        waiting[edge] = in_form(edge.spec.shape, waiting[edge])
    if into_grad:
        for edge in waiting:
            _refuse_moved(edge)
        for edge, g in waiting.items():
            _accumulate_leaf(edge, g, reading)
    if not keep:
        _free(walked)
    return {} if into_grad else found | waiting


def _refuse_moved(edge: Any) -> None:
    """Refuse to add to what was a leaf once: it was frozen and written, or its base was."""
    leaf = edge.leaf() if type(edge) is AccumulateGrad else None
    if leaf is not None and not leaf.is_leaf:
        raise error(
            "invalid_argument",
            "backward: a leaf variable has been moved into the graph interior: it, or the base "
            "that it is a view of, was written and has a history now",
            "write to a copy of it made with clone()",
            raised=RuntimeError,
        )


def _reformed(edge: Any, g: Any) -> bool:
    """Whether a leaf had another form when a graph that was walked began to lead to it."""
    if type(edge) is not AccumulateGrad or edge.spec is None:
        return False
    return bool(getattr(g, "shape", edge.spec.shape) != edge.spec.shape)  # a dry walk knows none


def _walk(  # noqa: C901 (one hot frame)
    order: list[Any],
    roots: Sequence[tuple[Edge, Any]],
    reading: Reading,
    ends: set[Any] | None,
    into_grad: bool,
) -> tuple[dict[Any, Any], dict[Any, Any], list[Node]]:
    """What arrived at wanted nodes, what is left at leaves, and the nodes whose rules ran."""
    useful = None if ends is None else _leading_to(order, ends)
    captured: set[Node] = {end for end in ends or () if type(end) is Node}
    pending: Pending = {}
    for edge, g in roots:
        add_pending(pending, edge, g)
    found: dict[Any, Any] = {}
    retained: Retained = []
    walked: list[Node] = []
    charge, step, careful = _ways(reading)
    only: Any = target(roots[0][0]) if len(roots) == 1 else None
    for node in order:
        g = pending.pop(node, None)
        if useful is not None and node not in useful:
            if node is only and g is not None:  # not run, but the only root's hooks see what comes
                arrived(node, g, reading, retained)
            continue
        if g is None:
            nothing_came(node, reading, into_grad)
            if _goes_on(node, captured, useful, into_grad, walked):
                nothing_goes_on(node, reading, pending, useful)
                walked.append(node)
            continue
        if node in captured and _leads_on(node, useful or set()):
            _capture(node, g, found)  # before its hooks, as torch has it here
        elif node in captured and not into_grad:  # backward runs the node of an input too
            _capture(node, arrived(node, g, reading, retained), found)
            continue
        take = step
        if node.extra is not None and node.extra.attached:
            g, take = arrived(node, g, reading, retained), careful
            if type(node) is AccumulateGrad:
                if into_grad and any(a.kind != TENSOR for a in node.extra.attached):
                    _refuse_moved(node)
                    _accumulate_leaf(node, g, reading)
                else:  # it waits for the end
                    pending[node] = g
                continue
        if node not in captured or _runs(node, useful, walked):
            if charge is not None:
                charge(node.recipe.gradient_bytes, node.recipe.gradient_flops, 1)
            take(node, node.recipe, g, pending, useful)
            walked.append(node)
    for tensor, g, shape in retained:
        _retain(tensor, g, shape, reading)
    return found, pending, walked


def _ways(reading: Reading) -> tuple[Callable[[int, int, int], None] | None, Any, Any]:
    """Who is asked for bytes, if anybody, the step of a node, and that of one with hooks."""
    careful: Any = partial(careful_step, reading)
    step: Any = careful if local.state.anomaly else reading.step
    meter = None if reading.charges else local.state.meter  # or the ops that rules are made of ask
    charge = None if meter is None else meter.charge
    profile = local.state.profile
    if profile is None:
        return charge, step, careful
    return None, profile.timed_step(charge, step), profile.timed_step(charge, careful)


def _goes_on(
    node: Any, captured: set[Node], useful: Useful, into_grad: bool, walked: list[Node]
) -> bool:
    """Whether it is a node whose rules run, be it one that is asked for."""
    if type(node) is not Node or node not in captured:
        return type(node) is Node
    return (into_grad or _leads_on(node, useful or set())) and _runs(node, useful, walked)


def _runs(node: Node, useful: Useful, walked: list[Node]) -> bool:
    """Whether the rules of a wanted node run: not where torch's by that name keeps nothing.

    What is kept for it elsewhere is asked for, and let go, with it.
    """
    refuse_underived(node.recipe)
    if keeps_nothing(node):
        return _leads_on(node, useful or set())
    found = keeper(node)
    if found is not node and found.recipe.saved:
        saved_values(found)
        walked.append(found)
    return True


def edge_key(edge: Edge) -> Any:
    """What identifies an edge: an Output is made anew for each tensor that aliases it."""
    return (edge.node, edge.index) if type(edge) is Output else edge


def _reachable(starts: list[Edge]) -> tuple[list[Any], bool]:
    """All nodes that the edges lead to, newest first; whether leaves with hooks are among them."""
    seen: set[Any] = set()
    add = seen.add
    stack: list[Any] = list(starts)
    nodes: list[Any] = []
    hooked = False
    while stack:
        node = stack.pop()
        if type(node) is Output:
            node = node.node
        if type(node) is Node and node not in seen:
            add(node)
            nodes.append(node)
            stack.extend(node.edges)
        elif node is not None and node.extra is not None and node.extra.attached:
            hooked = True
    nodes.sort(key=attrgetter("seq"), reverse=True)
    return (_with_leaves(nodes, starts), True) if hooked else (nodes, False)


def _with_leaves(nodes: list[Any], starts: list[Edge]) -> list[Any]:
    """The same with the leaves that have hooks: each where its gradient is complete."""
    last: dict[Any, Any] = dict.fromkeys([e for e in starts if _hooked(e)])
    for node in nodes:
        last |= {e: node for e in node.edges if _hooked(e)}
    after: dict[Any, list[Any]] = {}
    for leaf, node in last.items():
        after.setdefault(node, []).append(leaf)
    return after.get(None, []) + [n for node in nodes for n in (node, *after.get(node, ()))]


def _hooked(edge: Edge | None) -> bool:
    return type(edge) is AccumulateGrad and edge.extra is not None and bool(edge.extra.attached)


def _leading_to(nodes: list[Node], ends: set[Any]) -> Useful:
    """These nodes and leaves, and all nodes on a way to one of them."""
    useful = set(ends)
    for node in reversed(nodes):
        for edge in node.edges:
            if (edge.node if type(edge) is Output else edge) in useful:
                useful.add(node)
                break
    return useful


def _leads_on(node: Node, useful: set[Any]) -> bool:
    """Whether a captured node is also on a way to another one: else it is not walked, nor freed."""
    return any((e.node if type(e) is Output else e) in useful for e in node.edges)


def _capture(node: Node, g: Any, found: dict[Any, Any]) -> None:
    if type(g) is dict:
        found |= {(node, index): part for index, part in g.items()}
    else:
        found[node] = g


def _free(nodes: list[Node]) -> None:
    """Let go of what the walked nodes had saved; the log has all of it as one entry."""
    journal = local.state.journal
    if journal is not None:
        kept = [(node, node.saved, node.versions) for node in nodes if node.saved]
        journal.entries.append((_freed, "kept", kept))
    for node in nodes:
        if node.saved:
            node.saved, node.versions = FREED, None


class _Freed:
    """What walks let go of, as an owner of what the log puts back."""

    @property
    def kept(self) -> list[tuple[Node, Any, Any]]:
        """Nothing: each entry of a log has its own."""
        return []

    @kept.setter
    def kept(self, nodes: list[tuple[Node, Any, Any]]) -> None:
        for node, saved, versions in nodes:
            node.saved, node.versions = saved, versions


_freed = _Freed()


def _accumulate_leaf(edge: AccumulateGrad, g: Any, reading: Reading) -> None:
    leaf = edge.leaf()
    if leaf is None:
        _accumulate_left(edge, g, reading)
    else:
        if edge.extra is not None:
            accumulated(edge, leaf, g, reading, accumulate)
        elif leaf.requires_grad:
            accumulate(leaf, g, reading)


def _accumulate_left(edge: AccumulateGrad, g: Any, reading: Reading) -> None:
    """Of a leaf that is gone: its gradient, if that is still known by a name, is written to."""
    old: Any = None if edge.grad is None else edge.grad()
    if old is not None and not (local.state.grad or reading is recorded):
        write("add_", old, old + reading.tensor(g, old.spec))


def accumulate(tensor: Tensor, g: Any, reading: Reading) -> None:
    """Add a gradient into `.grad`: into the same tensor, but in grad mode as a new one.

    What is kept is never a cotangent that the caller, or another leaf, can still write to.
    """
    edge = tensor._edge
    made = reading.tensor(
        g, edge.spec or tensor.spec if type(edge) is AccumulateGrad else tensor.spec
    )
    old: Any = tensor.grad
    recording = local.state.grad or reading is recorded  # also in inference mode
    if old is None:
        if made.shape != tensor.shape:
            made = clone(expand(made, tensor.shape))
        tensor.keep_grad(laid_as(_copied(made, tensor) if recording else made, tensor))
    elif recording:
        tensor.keep_grad(old + made)
    else:
        write("add_", old, old + made)


def _retain(tensor: Tensor, g: Any, shape: Shape, reading: Reading) -> None:
    """Add a gradient to what a non-leaf retains, always as a new tensor, in the form it had."""
    if getattr(g, "shape", shape) != shape:  # it was given another one in no_grad
        g = in_form(shape, g)
    made: Any = clone(reading.tensor(g, tensor.spec.with_(shape=shape)))
    assign(tensor, "grad", made if tensor.grad is None else tensor.grad + made)


def _copied(g: Any, tensor: Tensor) -> Any:
    """A recorded copy of a gradient, named as torch names a leaf's that lies without gaps."""
    made = clone(g)
    if dense(tensor.array):
        made.rename_node("CopyBackwards")
    return made
