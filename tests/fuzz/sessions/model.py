"""What a session holds, and reverse mode on it, as short as NumPy allows.

Elements are small whole numbers in float64, so that both sides compute exactly. Tensors are vectors
of two and scalars. What torch says of leaves, versions, saved tensors and freed graphs is written
here a second time, by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_serial = count()


class Refused(Exception):
    """The session must refuse this, with one of these codes."""

    def __init__(self, *codes: str) -> None:
        super().__init__(*codes)
        self.codes = codes


@dataclass(eq=False)
class Storage:
    """Elements that may have several names, and how often they were written."""

    array: Array
    version: int = 0


@dataclass(eq=False)
class Node:
    """An op that was applied. saved: storages, and the versions that they had then."""

    edges: list[Edge]
    rule: Callable[[Array], Iterable[Array]]
    saved: list[tuple[Storage, int]]
    freed: bool = False
    serial: int = field(default_factory=lambda: next(_serial))

    def wrong(self) -> str | None:
        """The code of what keeps it from being walked, if anything does."""
        if self.freed and self.saved:
            return "graph_freed"
        return "modified_in_place" if any(s.version != v for s, v in self.saved) else None


@dataclass(eq=False)
class Tensor:
    """A tensor; `node` is None for a leaf."""

    storage: Storage
    requires_grad: bool = False
    node: Node | None = None
    grad: Array | None = None

    @property
    def array(self) -> Array:
        """Its elements."""
        return self.storage.array

    def edge(self) -> Edge:
        """Where its gradient goes: to its node, to itself if it is a leaf, or nowhere."""
        return (self.node or self) if self.requires_grad else None


Edge = Node | Tensor | None


def leaf(elements: Any, requires_grad: bool = False) -> Tensor:
    """A new one."""
    return Tensor(Storage(np.array(elements, np.float64)), requires_grad)


def _fit(g: Array, array: Array) -> Array:
    return g if g.shape == array.shape else np.asarray(g.sum())


def apply(op: str, args: list[Any], grad_mode: bool = True) -> Tensor:
    """The result of one of OPS on tensors and numbers."""
    arrays = [a.array if type(a) is Tensor else np.float64(a) for a in args]
    out = Tensor(Storage(np.asarray(OPS[op][0](*arrays), np.float64)))
    edges = [a.edge() if type(a) is Tensor else None for a in args]
    if grad_mode and any(edge is not None for edge in edges):
        out.requires_grad, out.node = True, _node(op, args, arrays, edges, out.storage)
    return out


def _node(op: str, args: list[Any], arrays: list[Any], edges: list[Edge], out: Storage) -> Node:
    _, rule, kept = OPS[op]
    before = [np.array(array) for array in arrays]

    def back(g: Array) -> Iterable[Array]:
        return [_fit(np.asarray(d), b) for d, b in zip(rule(g, *before), before, strict=False)]

    saved = [
        args[place].storage
        for place, of in kept
        if place >= 0 and type(args[place]) is Tensor and edges[of] is not None
    ]
    saved += [out for place, _ in kept if place < 0]
    return Node(edges, back, [(storage, storage.version) for storage in saved])


OPS: dict[str, tuple[Any, Any, tuple[tuple[int, int], ...]]] = {
    "add": (lambda a, b: a + b, lambda g, a, b: (g, g), ()),
    "sub": (lambda a, b: a - b, lambda g, a, b: (g, -g), ()),
    "mul": (lambda a, b: a * b, lambda g, a, b: (g * b, g * a), ((1, 0), (0, 1))),
    "neg": (lambda a: -a, lambda g, a: (-g,), ()),
    "pow": (lambda a, b: a**b, lambda g, a, b: (g * b * a ** (b - 1), g), ((0, 0),)),
    "sum": (lambda a: a.sum(), lambda g, a: (np.broadcast_to(g, a.shape),), ()),
    "relu": (lambda a: np.maximum(a, 0), lambda g, a: (g * (a > 0),), ((-1, 0),)),
}
"""Ops: what they compute, their rule, and what they keep: (argument, for whose gradient)."""


def write(target: Tensor, op: str, other: Any, grad_mode: bool = True) -> None:
    """An op in place, on a tensor with as many elements as its result."""
    if grad_mode and target.requires_grad and target.node is None:
        raise Refused("leaf_in_place")
    before = Tensor(Storage(target.array.copy()), target.requires_grad, target.node)
    made = apply(op, [before, other], grad_mode)
    if made.array.shape != target.array.shape:
        raise Refused("shape_mismatch")
    target.storage.array = made.array
    target.storage.version += 1
    if made.node is not None:
        target.requires_grad, target.node = True, made.node


def reached(roots: Iterable[Edge]) -> list[Node]:
    """The nodes behind these, those first that were made last."""
    found: set[Node] = set()
    pending = list(roots)
    while pending:
        edge = pending.pop()
        if isinstance(edge, Node) and edge not in found:
            found.add(edge)
            pending += edge.edges
    return sorted(found, key=lambda node: -node.serial)


def walk(root: Tensor, inputs: list[Tensor] | None, keep: bool) -> dict[Edge, Array]:
    """The gradients of a scalar: by leaf, or of these inputs alone. Frees what it walked."""
    if not root.requires_grad:
        raise Refused("requires_no_grad")
    if root.array.shape != ():
        raise Refused("not_scalar")
    nodes = reached([root.edge()])
    if inputs is not None:
        nodes = _leading(nodes, {t.edge() for t in inputs})
    if wrong := {node.wrong() for node in nodes} - {None}:
        raise Refused(*map(str, wrong))
    found: dict[Edge, Array] = {root.edge(): np.float64(1) * np.ones(())}
    for node in nodes:
        g = found.get(node)
        if g is None:
            continue
        for edge, part in zip(node.edges, node.rule(g), strict=False):
            if edge is not None:
                found[edge] = found[edge] + part if edge in found else part
    for node in nodes:
        node.freed |= not keep
    return found


def _leading(nodes: list[Node], ends: set[Edge]) -> list[Node]:
    """Those from which one of the ends is reached by a step or more."""
    found: set[Edge] = set()
    for node in reversed(nodes):
        if any(edge in ends or edge in found for edge in node.edges):
            found.add(node)
    return [node for node in nodes if node in found]


def backward(root: Tensor, keep: bool) -> None:
    """Accumulate gradients into the leaves."""
    for edge, g in walk(root, None, keep).items():
        if isinstance(edge, Tensor) and edge.requires_grad:
            edge.grad = np.array(g) if edge.grad is None else edge.grad + g


def gradients(root: Tensor, inputs: list[Tensor], keep: bool, unused: bool) -> list[Array | None]:
    """The gradients of these inputs."""
    lacking = [] if all(t.requires_grad for t in inputs) else ["requires_no_grad"]
    lacking += ["not_scalar"] if root.requires_grad and root.array.shape != () else []
    if lacking:
        raise Refused(*lacking)
    behind = {root.edge(), *reached([root.edge()])}
    behind |= {edge for node in list(behind) if isinstance(node, Node) for edge in node.edges}
    if root.requires_grad and not unused and any(t.edge() not in behind for t in inputs):
        raise Refused("unused_input", "graph_freed", "modified_in_place")
    found = walk(root, inputs, keep)
    return [found.get(t.edge()) for t in inputs]
