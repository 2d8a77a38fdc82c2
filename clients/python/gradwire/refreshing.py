"""Mirrors that are brought up to what a session's host has."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from gradwire.optim.optimizer import Hosted
from gradwire.pending import Lost
from gradwire.tensor import Tensor
from gradwire_engine.errors import error

if TYPE_CHECKING:
    from gradwire.held import Held
    from gradwire.session import Session


def refresh(session: Session, held: Held) -> None:
    """Give the tensors and optimizers that Python has of a session the mirrors of what it holds."""
    for found in gc.get_objects():
        if isinstance(found, Tensor) and found.session is session and found._name:
            _refresh(found, held)
        elif isinstance(found, Hosted) and found._session is session:
            mirror = held.optimizers.get(found._name)
            if mirror is not None:
                found._mirror = mirror


def free_unnamed(session: Session) -> None:
    """Have the host free the tensors that Python has of a session, but for those with a name given.

    For the end of a program: nobody else knows them.
    """
    for found in gc.get_objects():
        if not isinstance(found, Tensor) or found.session is not session:
            continue
        if found._name and found._name not in session.named:
            session.forget(found._name)
            found._name = ""


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
