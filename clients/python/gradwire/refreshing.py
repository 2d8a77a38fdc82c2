"""Mirrors that are brought up to what a session's host has."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, TypeVar

from gradwire.optim.optimizer import Hosted
from gradwire.pending import Lost
from gradwire.tensor import Tensor
from gradwire_engine.errors import error

if TYPE_CHECKING:
    from gradwire.held import Held
    from gradwire.session import Session


T = TypeVar("T")


def refresh(session: Session, held: Held) -> None:
    """Give the tensors and optimizers that Python has of a session the mirrors of what it holds."""
    for tensor in _objects(Tensor):
        if tensor.session is session and tensor._name:
            _refresh(tensor, held)
    for optimizer in _objects(Hosted):
        if optimizer._session is session and optimizer._name in held.optimizers:
            optimizer._mirror = held.optimizers[optimizer._name]


def free_unnamed(session: Session) -> None:
    """Have the host free the tensors that Python has of a session, but for those with a name given.

    For the end of a program: nobody else knows them.
    """
    for tensor in _objects(Tensor):
        if tensor.session is session and tensor._name and tensor._name not in session.named:
            session.forget(tensor._name)
            tensor._name = ""


def _objects(kind: type[T]) -> list[T]:
    """All objects of a class that Python has; asked by their types, since some stand for others."""
    found: list[Any] = [one for one in gc.get_objects() if issubclass(type(one), kind)]
    return [one for one in found if hasattr(one, "session" if kind is Tensor else "_session")]


def _refresh(tensor: Tensor, held: Held) -> None:
    meta = held.metas.get(tensor._name)
    if meta is None:
        problem = error(
            "tensor_not_found",
            f"another client of the session freed {tensor._name!r}",
            "make it again",
        )
        tensor._lose(Lost(problem, ""))
    else:
        tensor._meta = meta
        tensor._elements = tensor._grad = None


__all__ = ["free_unnamed", "refresh"]
