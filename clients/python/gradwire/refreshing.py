"""Mirrors that are brought up to what a session's host has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire.optim.optimizer import Hosted
from gradwire.pending import Lost
from gradwire.tensor import Tensor
from gradwire_engine.errors import error

if TYPE_CHECKING:
    from gradwire.held import Held
    from gradwire.session import Session


def refresh(session: Session, held: Held) -> None:
    """Give the tensors and optimizers that Python has of a session the mirrors of what it holds."""
    for name in session.names:
        thing: Any = name()
        if isinstance(thing, Tensor) and name.text:
            _refresh(thing, held)
        elif isinstance(thing, Hosted) and name.text in held.optimizers:
            thing._mirror = held.optimizers[name.text]


def free_made(session: Session) -> None:
    """Have the host free the tensors that Python made, but for those with a name given.

    For the end of a program: nobody else knows them.
    """
    for name in session.names:
        if name.spec is not None and name.kind == "made":
            session.names.forget(name)


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


__all__ = ["free_made", "refresh"]
