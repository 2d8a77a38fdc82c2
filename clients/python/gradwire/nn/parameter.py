"""Parameters: leaves that a module counts as its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradwire.functions import op
from gradwire.grad_fn import note_leaf
from gradwire.tensor import Tensor

if TYPE_CHECKING:
    from gradwire.nn.module import Module


class _Detached(Tensor):
    """A leaf over a tensor's elements."""

    __slots__ = ()

    def __init__(self, source: Tensor) -> None:
        session = source.session
        with session.recording() as mark:
            super().__init__(session, source._meta.detach())
            step = {"detach": source._name, "out": self._name}
            session.record(step, [self], mark=mark)


class Parameter(_Detached):
    """A leaf over a tensor's elements, which a module that it is assigned to trains and saves."""

    __slots__ = ()

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        source = op("empty")(0) if data is None else data
        super().__init__(source)
        if requires_grad:
            self.requires_grad_()

    def _become(self, change: Callable[[Tensor], Tensor]) -> None:
        """Be another leaf from now on, with the elements that `change` makes of these."""
        source = self.detach()
        changed = change(source)
        if changed is source:
            return
        grad = self.grad
        fresh = Parameter(changed.detach(), self.requires_grad)
        self._name, fresh._name = fresh._name, self._name
        self._meta, fresh._meta = fresh._meta, self._meta
        self._elements = None
        note_leaf(self)
        if grad is not None:
            self.grad = change(grad.detach())

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


def declare(module: Module, device: Any, dtype: Any, **shapes: tuple[int, ...] | None) -> None:
    """Register parameters of these shapes, with elements still to be set; None keeps a place."""
    for name, shape in shapes.items():
        made = None if shape is None else Parameter(op("empty")(shape, device=device, dtype=dtype))
        module.register_parameter(name, made)


class Buffer(_Detached):
    """A tensor that a module which it is assigned to saves, but doesn't train."""

    __slots__ = ("persistent",)

    def __init__(self, data: Tensor, *, persistent: bool = True) -> None:
        super().__init__(data)
        self.persistent = persistent


__all__ = ["Buffer", "Parameter", "declare"]
