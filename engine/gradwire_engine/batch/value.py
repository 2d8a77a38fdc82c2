"""Batched: a value that stands for many of one shape, along an axis that ops don't see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.ops.expand import expand
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.spec import Spec, Value
from gradwire_engine.tape import Edge, Node


class Batched(Value):
    """Axis 0 of `value` is the batch; shape, dtype and history are those of one example.

    value: a Tensor, or what a transform further out wraps around one. level: which vmap this
    belongs to. Everything else is read off the value, without its first axis.
    """

    __slots__ = ("__weakref__", "level", "spec", "value")

    def __init__(self, value: Any, level: int) -> None:
        self.value = value
        self.level = level
        spec = value.spec
        self.spec: Spec = Spec(spec.shape[1:], spec.dtype, spec.device)

    @property
    def size(self) -> int:
        """How many examples there are."""
        return int(self.value.spec.shape[0])

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, an axis each."""
        strides: tuple[int, ...] = self.value.strides
        return strides[1:]

    @property
    def version(self) -> int:
        """How often the storage was written."""
        version: int = self.value.version
        return version

    @property
    def array(self) -> Any:
        """There is no one array of an example: what looks at elements cannot be batched."""
        raise no_elements("the elements of a tensor are looked at")

    def numpy(self) -> Any:
        """Refused as `array` is."""
        return self.array

    def within(self, change: Callable[[Any], Any]) -> Batched:
        """The same batch axis around what the value is changed to."""
        return Batched(change(self.value), self.level)

    # where it stands in the graph

    @property
    def edge(self) -> Edge | None:
        """Where gradients of the value go."""
        edge: Edge | None = self.value.edge
        return edge

    @property
    def requires_grad(self) -> bool:
        return bool(self.value.requires_grad)

    @property
    def is_leaf(self) -> bool:
        return bool(self.value.is_leaf)

    @property
    def grad_fn(self) -> Node | None:
        node: Node | None = self.value.grad_fn
        return node

    @property
    def is_inference(self) -> bool:
        return bool(self.value.is_inference)

    @property
    def grad(self) -> Batched | None:
        """Each example's own gradient."""
        return None if self.value.grad is None else Batched(self.value.grad, self.level)

    def requires_grad_(self, flag: bool = True) -> Batched:
        """Make a leaf record, or freeze it."""
        self.value.requires_grad_(flag)
        return self

    def detach_(self) -> Batched:
        """Forget the history in place."""
        self.value = self.value.detach()
        return self

    def detach(self) -> Batched:
        """The same elements without history."""
        return Batched(self.value.detach(), self.level)

    def rename_node(self, label: str) -> None:
        """Give the node that made the value torch's name for the composite it ends."""
        self.value.rename_node(label)

    def __bool__(self) -> bool:
        raise no_elements("a tensor decides which way the program goes")

    def __repr__(self) -> str:
        return f"<Batched {self.spec} of {self.size}, level {self.level}>"


def is_rows(value: Any, level: int) -> bool:
    """Whether a value is one of many examples of the vmap at this level."""
    return type(value) is Batched and value.level == level


def fronted(value: Any, level: int, size: int) -> Any:
    """A value with its batch axis in front: the same everywhere where it had none."""
    return value.value if is_rows(value, level) else expand(value, (size, *value.shape))


def no_elements(what: str) -> GradwireError:
    """Why vmap can't follow: one program runs for all examples, whatever their elements are."""
    return error(
        "untraceable",
        f"vmap: {what}, which differ from example to example",
        "decide by ops, for instance where(), or do it outside of vmap",
    )


VALUE_TYPES.add(Batched)
