"""The walk: one iterative pass over the nodes, newest first; it knows neither ops nor arrays.

A node's operands were made before it, so by creation order everything that flows into a node has
arrived when its turn comes. Nothing of the graph or of `.grad` is touched before the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from gradwire_engine.call import Recipe
from gradwire_engine.inplace import write
from gradwire_engine.journal import assign
from gradwire_engine.mode import local
from gradwire_engine.ops.cast import clone
from gradwire_engine.reading import Pending, Reading, Useful, add_pending
from gradwire_engine.tape import FREED, AccumulateGrad, Edge, Node, Output
from gradwire_engine.tensor import RETAINS, Tensor


def walk(
    roots: Sequence[tuple[Edge, Any]],
    reading: Reading,
    keep: bool,
    *,
    captures: Sequence[Edge] | None = None,
) -> dict[Any, Any]:
    """Carry cotangents from the roots down.

    captures: what arrived at these edges is the result, by `edge_key`; None: add what arrives at
    leaves into their `.grad`, after the whole walk has gone well. keep: leave the saved tensors
    where they are.
    """
    wanted = None if captures is None else {edge_key(e) for e in captures}
    order = _reachable([edge for edge, _ in roots])
    captured = {key[0] if type(key) is tuple else key for key in wanted or ()}
    useful = None if wanted is None else _leading_to(order, captured)
    pending: Pending = {}
    for edge, g in roots:
        add_pending(pending, edge, g)
    found: dict[Any, Any] = {}
    retained: list[tuple[Tensor, Any]] = []
    walked: list[Node] = []
    step, meter = reading.step, None if reading.charges else local.state.meter
    charge = _free_of_charge if meter is None else meter.charge
    for node in order:
        g = pending.pop(node, None)
        if g is None or (useful is not None and node not in useful):
            continue
        recipe = node.recipe
        if node.extra is not None and node.extra.retains:
            _retain(node, g, recipe, retained)
        if node in captured:
            _capture(node, g, recipe, wanted or set(), found)
            if not _leads_on(node, useful or set()):
                continue
        charge(recipe.gradient_bytes)
        step(node, recipe, g, pending, useful)
        walked.append(node)
    if not keep:
        _free(walked)
    for tensor, g in retained:
        accumulate(tensor, g, reading)
    leaves = {e: g for e, g in pending.items() if type(e) is AccumulateGrad}
    if wanted is None:
        _accumulate_leaves(leaves, reading)
        return {}
    return found | {e: g for e, g in leaves.items() if e in wanted}


def edge_key(edge: Edge) -> Any:
    """What identifies an edge: an Output is made anew for each tensor that aliases it."""
    return (edge.node, edge.index) if type(edge) is Output else edge


def _reachable(starts: list[Edge]) -> list[Node]:
    """All nodes that the edges lead to, newest first."""
    seen: set[Any] = set()
    add = seen.add
    stack: list[Any] = list(starts)
    nodes: list[Node] = []
    while stack:
        node = stack.pop()
        if type(node) is Output:
            node = node.node
        if type(node) is Node and node not in seen:
            add(node)
            nodes.append(node)
            stack.extend(node.edges)
    nodes.sort(key=attrgetter("seq"), reverse=True)
    return nodes


def _leading_to(nodes: list[Node], captured: set[Any]) -> Useful:
    """The captured nodes and leaves, and all nodes on a way to one of them."""
    useful = set(captured)
    for node in reversed(nodes):
        for edge in node.edges:
            if (edge.node if type(edge) is Output else edge) in useful:
                useful.add(node)
                break
    return useful


def _leads_on(node: Node, useful: set[Any]) -> bool:
    """Whether a captured node is also on a way to another one: else it is not walked, nor freed."""
    return any((e.node if type(e) is Output else e) in useful for e in node.edges)


def _capture(node: Node, g: Any, recipe: Recipe, wanted: set[Any], found: dict[Any, Any]) -> None:
    if recipe.call.single:
        if node in wanted:
            found[node] = g
        return
    for index, part in g.items():
        if (node, index) in wanted:
            found[(node, index)] = part


def _retain(node: Node, g: Any, recipe: Recipe, retained: list[tuple[Tensor, Any]]) -> None:
    for index, reference in node.extra.retains if node.extra else ():
        tensor = reference()
        part = g if recipe.call.single else g.get(index)
        if tensor is not None and part is not None and tensor.flags & RETAINS:
            retained.append((tensor, part))


def _free(nodes: list[Node]) -> None:
    """Let go of what the walked nodes had saved."""
    logged = local.state.journal is not None
    for node in nodes:
        if node.saved:
            if logged:
                assign(node, "saved", FREED)
                assign(node, "versions", None)
            else:
                node.saved, node.versions = FREED, None


def _free_of_charge(nbytes: int) -> None:
    """Where nobody counts bytes, or the ops that rules are made of ask for themselves."""


def _accumulate_leaves(leaves: dict[AccumulateGrad, Any], reading: Reading) -> None:
    for edge, g in leaves.items():
        leaf = edge.leaf()
        if leaf is not None and leaf.requires_grad:
            accumulate(leaf, g, reading)


def accumulate(tensor: Tensor, g: Any, reading: Reading) -> None:
    """Add a gradient into `.grad`: into the same tensor, but in grad mode as a new one.

    What is kept is never a cotangent that the caller, or another leaf, can still write to.
    """
    made = reading.tensor(g, tensor.spec)
    old: Any = tensor.grad
    recording = local.state.grad
    if old is None:
        assign(tensor, "grad", clone(made) if recording else made)
    elif recording:
        assign(tensor, "grad", old + made)
    else:
        write("add_", old, old + made)
