"""A node of the graph as users see it: torch's grad_fn."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import WeakValueDictionary

from gradwire_engine.tape import AccumulateGrad, Node

if TYPE_CHECKING:
    from gradwire.tensor import Tensor

_known: WeakValueDictionary[int, GradFn] = WeakValueDictionary()


_leaves: WeakValueDictionary[int, Tensor] = WeakValueDictionary()
"""Leaves that record, by their mirrors, which graphs hold in their place."""


def note_leaf(tensor: Tensor) -> None:
    """Have the node where its gradients arrive know the tensor."""
    _leaves[id(tensor._meta)] = tensor


_OF_AUTOGRAD = ("AccumulateGrad", "CopyBackwards", "CopySlices", "NotImplemented")
"""Nodes that are torch's own, of no op: their names say where they come from."""


class GradFn:
    """What made a tensor; the same object each time it is asked for."""

    __slots__ = ("__weakref__", "node", "tensor")

    register_hook: Callable[..., Any]  # put on by `methods`
    register_prehook: Callable[..., Any]

    def __init__(self, node: Node | AccumulateGrad) -> None:
        self.node = node
        self.tensor: Tensor | None = None  # by which the host knows the node

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "a node of the graph can't be pickled or copied: the graph stays in its session; "
            "pickle tensors, or take the session's snapshot()"
        )

    def name(self) -> str:
        """PyTorch's name of the node: "PowBackward0", or "torch::autograd::AccumulateGrad"."""
        found = self.node.name()
        return f"torch::autograd::{found}" if found in _OF_AUTOGRAD else found

    @property
    def next_functions(self) -> tuple[tuple[GradFn | None, int], ...]:
        """Where the gradients of the operands go: a node and its output's number each."""
        return tuple((grad_fn(node), place) for node, place in self.node.next_functions)

    @property
    def variable(self) -> Tensor | None:
        """Of an AccumulateGrad the leaf whose gradient it adds to; None where that is gone."""
        if not isinstance(self.node, AccumulateGrad):
            raise AttributeError(f"{self.node.name()!r} object has no attribute 'variable'")
        meta = self.node.leaf()
        found = _leaves.get(id(meta))
        return found if found is not None and found._meta is meta else None

    def __repr__(self) -> str:
        return f"<{self.node.name()} object at {hex(id(self))}>"


@lru_cache(1024)  # names are the user's too, and may be any number
def _kind(name: str) -> type[GradFn]:
    """torch has a class for each kind of node, by whose name some programs ask for it."""
    return type(name, (GradFn,), {"__slots__": ()})


def grad_fn(node: Node | AccumulateGrad | None, tensor: Tensor | None = None) -> GradFn | None:
    """What stands for a node; tensor: one that it made."""
    if node is None:
        return None
    found = _known.get(id(node))
    if found is None:
        found = _known[id(node)] = _kind(node.name())(node)
    if tensor is not None:
        found.tensor = tensor
    return found


__all__ = ["GradFn", "grad_fn", "note_leaf"]
