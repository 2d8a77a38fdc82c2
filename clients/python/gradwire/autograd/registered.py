"""Hooks as the mirrors hold them, and the walk that is under way on a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import local as thread_local
from typing import TYPE_CHECKING, Any

from gradwire.tensor import Tensor, held_tensor
from gradwire.thread import as_user, refuse_others
from gradwire_engine.errors import error

if TYPE_CHECKING:
    from gradwire.autograd.hooked import Walk
    from gradwire.session import Session


class Registered:
    """A hook as the mirrors hold it. edges: how many gradients of operands a node's hook gets.

    place: the name at the host of where it hangs. reads: whether it was seen to look at values.
    """

    def __init__(
        self,
        kind: str,
        function: Callable[..., Any],
        owner: Callable[[], Tensor | None],
        session: Session,
        edges: int = 0,
    ) -> None:
        self.session = session
        self.id = getattr(function, "__name__", type(function).__name__)
        self.kind, self.function, self.owner, self.edges = kind, function, owner, edges
        self.place = ""
        self.reads = False

    @property
    def at_host(self) -> str:
        """The name at the host of where it hangs: of a leaf its own, which may change."""
        owner = self.owner() if self.kind == "post_accumulate" else None
        return self.place if owner is None else owner._name

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """A walk has come here."""
        if self.session.runs_here:
            return self._called(values)
        walk = under_way.walk
        return () if walk is None else walk.arrived(self, values)

    def _called(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """What the user's function gives for gradients that are here."""
        if self.kind == "post_accumulate":
            leaf = self.owner()
            as_user(self.call, [held_tensor(self.session, values[0]) if leaf is None else leaf])
            return ()
        given = [None if v is None else held_tensor(self.session, v) for v in values]
        found = as_user(self.call, given)
        if found is None:
            return ()
        several = self.kind != "tensor" and isinstance(found, tuple | list)
        parts = found if several else (found,)
        refuse_others(self.session, parts)
        return tuple([p._meta if isinstance(p, Tensor) else p for p in parts])

    def call(self, given: Sequence[Any]) -> Any:
        """Call the user's function as torch does."""
        if self.kind == "post_accumulate":
            return self._of_leaf(given[0])
        if self.kind == "node":
            return self.function(tuple(given[: self.edges]), tuple(given[self.edges :]))
        return self.function(tuple(given) if self.kind == "node_before" else given[0])

    def _of_leaf(self, leaf: Any) -> None:
        if self.function(leaf) is not None:
            raise error(
                "invalid_argument",
                "Tensor post accumulate grad hooks should return None.",
                "end it without a return",
                raised=RuntimeError,
            )


class _UnderWay(thread_local):
    walk: Walk | None = None


under_way = _UnderWay()


__all__ = ["Registered", "under_way"]
