"""What a session needs of a host, wherever that is: the same requests, the same replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from gradwire_engine.spec import DType

Step = dict[str, Any]
Took = dict[str, Any]
"""What the ops of a request took: seconds, bytes and rows, as a reply's `profile` has them."""
Arrays = Mapping[str, np.ndarray]


class Received(NamedTuple):
    """A tensor of a reply; `array` is None where its elements weren't asked for."""

    dtype: DType
    shape: tuple[int, ...]
    requires_grad: bool
    is_leaf: bool
    grad_fn: str | None
    version: int
    array: np.ndarray | None


Values = dict[str, Received | None]
"""The tensors of a reply by name; None stands for a gradient that isn't there."""


UNANSWERED = frozenset(
    {
        "unanswered", "unreachable", "rate_limited", "overloaded", "shutting_down",
        "request_timeout", "storage_unavailable",
    }
)  # fmt: skip
"""Errors after which the same request may be sent again, and be done then; or was done already."""


class Request:
    """Steps, and the names of tensors to be read after them, until the host has answered.

    Whoever is interrupted while it is under way gives it to the transport again, which goes on
    where it was: what was done is not done twice. data: whether elements are wanted. took: where
    the table of what each op took is put, if it is wanted. atomic: whether the steps are done all
    or not at all; else those before one that fails are kept.
    """

    __slots__ = ("arrays", "atomic", "data", "done", "part", "returns", "steps", "took")

    def __init__(
        self,
        steps: Sequence[Step],
        returns: Sequence[str] = (),
        arrays: Arrays | None = None,
        *,
        data: bool = True,
        took: list[Took] | None = None,
        atomic: bool = False,
    ) -> None:
        self.steps, self.returns, self.arrays = steps, list(returns), arrays or {}
        self.data, self.took, self.atomic = data, took, atomic
        self.done = 0
        """How many steps are known to be done."""
        self.part: Any = None
        """What the transport has sent and has no answer to yet."""

    @property
    def body(self) -> dict[str, Any]:
        """All of it, as the contract has it."""
        body = {"steps": self.steps, "return": self.returns, "atomic": self.atomic}
        return body if self.took is None else body | {"profile": True}


class Transport(Protocol):
    """A host: embedded in this process, or a server."""

    def info(self) -> dict[str, Any]:
        """What the host is and can: version, devices, dtypes, limits."""

    def create(self, body: dict[str, Any]) -> dict[str, Any]:
        """Make a session; its resource."""

    def describe(self, session_id: str) -> dict[str, Any]:
        """The session's resource."""

    def change(self, session_id: str, body: dict[str, Any]) -> None:
        """Change what the body names."""

    def delete(self, session_id: str) -> None:
        """End a session; one that is gone already is fine."""

    def forget(self, session_id: str) -> None:
        """End a session with the next request: Python forgot it, maybe in the midst of one."""

    def let_go(self, session_id: str) -> None:
        """Close connections for the session alone: nobody uses it now. It stays."""

    def graph(self, session_id: str, format: str, tensor: str | None) -> Any:
        """The graph: json as data, dot, mermaid and svg as text."""

    def program(self, body: dict[str, Any]) -> str:
        """The id of a program that the host knows from now on."""

    def transform(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """A transform of a program in the body, in one call; for replies without arrays.

        The program itself, or the id of one that the host knows.
        """

    def optimizers(self, session_id: str) -> list[dict[str, Any]]:
        """The session's optimisers; what they keep of parameters as numbers and Received."""

    def sessions(self, label: str | None = None) -> list[dict[str, Any]]:
        """The caller's sessions, all or those with a label, as resources, oldest first."""

    def described(self, session_id: str) -> str:
        """What a snapshot says of the session beside its arrays, as JSON."""

    def names(self, session_id: str) -> list[str]:
        """The names of the session's tensors."""

    def snapshot(self, session_id: str) -> bytes:
        """The session as one safetensors file."""

    def restore(self, metadata: dict[str, str], arrays: Arrays) -> dict[str, Any]:
        """A session of a snapshot, given as what its file says; its resource."""

    def steps(self, session_id: str, request: Request) -> Values:
        """Do the steps, then read tensors. An interrupted call is made again with its request."""

    def imagine(
        self, session_id: str, steps: Sequence[Step], arrays: Arrays, returns: Sequence[str]
    ) -> Values:
        """What tensors would be after some steps: these are done in a copy of the session."""


__all__ = ["UNANSWERED", "Arrays", "Received", "Request", "Step", "Took", "Transport", "Values"]
