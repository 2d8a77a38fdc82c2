"""torch.autograd.Variable, as old scripts have it: a tensor, made of another one."""

from __future__ import annotations

from typing import Any

from gradwire.tensor import Tensor


class _OfTensors(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_OfTensors):
    """A leaf that shares a tensor's elements; every tensor is an instance."""

    def __new__(cls, data: Tensor, requires_grad: bool = False) -> Tensor:  # type: ignore[misc]
        return data.detach().requires_grad_(requires_grad)


__all__ = ["Variable"]
