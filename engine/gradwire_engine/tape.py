"""The graph as data: nodes, and the edges that lead from an operand back to where it was made.

A node has no closure in it: the call (op, attributes, specs), an edge per operand, what was saved
and at which version. An edge is a `Node` (its only output), an `Output` (one of several) or an
`AccumulateGrad` (a leaf); None where nothing flows.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import ref

from gradwire_engine.mode import local

if TYPE_CHECKING:
    from gradwire_engine.call import Call, Recipe
    from gradwire_engine.tensor import Tensor

next_seq = count(1).__next__
"""Creation order: a node's operands always have smaller numbers than the node itself."""

FREED = ()
"""What stands in `saved` once the saved tensors were freed; `versions` is then None."""


class Node:
    """One recorded call. saved: Tensors and numbers; versions: the version each was saved at."""

    __slots__ = ("__weakref__", "edges", "extra", "recipe", "saved", "seq", "versions")

    def __init__(
        self,
        recipe: Recipe,
        edges: tuple[Edge | None, ...],
        saved: tuple[Any, ...],
        versions: tuple[int, ...] | None,
        seq: int,
    ) -> None:
        self.recipe = recipe
        self.edges = edges
        self.saved = saved
        self.versions = versions
        self.seq = seq
        self.extra: Extra | None = None

    @property
    def call(self) -> Call:
        """The op, attributes and specs."""
        return self.recipe.call

    @property
    def freed(self) -> bool:
        """Whether a backward freed what this node had saved."""
        return self.versions is None

    def name(self) -> str:
        """PyTorch's name for this node: "PowBackward0"."""
        return (self.extra and self.extra.label) or self.recipe.call.name

    @property
    def next_functions(self) -> tuple[tuple[Node | AccumulateGrad | None, int], ...]:
        """Where the gradients of the operands go: (node, output number) each."""
        return tuple((None, 0) if e is None else (target(e), place(e)) for e in self.edges)

    def annotate(self) -> Extra:
        """The rare attachments of this node, made when first asked for."""
        if self.extra is None:
            self.extra = Extra()
        return self.extra

    def describe(self) -> str:
        """The name, and where known the step and tensor that made the node."""
        origin = local.state.origin
        where = origin(self.seq) if origin is not None else ""
        return f"{self.name()} ({where})" if where else self.name()

    def __repr__(self) -> str:
        return f"<{self.name()} #{self.seq}>"


class Extra:
    """What few nodes have: another name, and tensors that retain their gradient, by output."""

    __slots__ = ("label", "retains")

    def __init__(self) -> None:
        self.label: str | None = None
        self.retains: tuple[tuple[int, ref[Tensor]], ...] = ()


class Output:
    """An edge to one of several outputs of a node."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node, self.index = node, index


class AccumulateGrad:
    """The edge of a leaf: gradients that arrive are added to the tensor's `.grad`."""

    __slots__ = ("__weakref__", "leaf", "seq")

    def __init__(self, leaf: Tensor) -> None:
        self.leaf = ref(leaf)
        self.seq = 0

    @property
    def next_functions(self) -> tuple[()]:
        return ()

    def name(self) -> str:
        return "AccumulateGrad"


Edge = Node | Output | AccumulateGrad


def target(edge: Edge) -> Node | AccumulateGrad:
    """The node that an edge leads to."""
    return edge.node if type(edge) is Output else edge  # type: ignore[return-value]


def place(edge: Edge) -> int:
    """Which output of its node an edge stands for."""
    return edge.index if type(edge) is Output else 0
