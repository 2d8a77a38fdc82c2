"""Literals of requests that run programs in one call: fields, and tensors that lie in sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gradwire_engine.errors import error
from gradwire_service.host.elements import Array

FIELDS = ("grad_outputs", "cotangents", "tangents", "vector")
"""Fields of requests that have literals by the name of what they go with."""


class Reference(NamedTuple):
    """A tensor that lies in a session already."""

    session: str
    tensor: str


Fetch = Callable[[Reference], Array]
"""How a reference becomes an array."""


def references(request: object) -> Iterator[Reference]:
    """The tensors of sessions that a request uses."""
    fields = vars(request)
    for field in ("inputs", *FIELDS):
        for value in (fields.get(field) or {}).values():
            found = reference(value)
            if found is not None:
                yield found


def reference(value: Any) -> Reference | None:
    """The reference that {"session": …, "tensor": …} is; None for a literal."""
    if type(value) is not dict or "session" not in value:
        return None
    session, tensor = value["session"], value.get("tensor")
    if value.keys() != {"session", "tensor"} or type(session) is not str or type(tensor) is not str:
        raise error(
            "invalid_request",
            "inputs: an object with session needs tensor beside it and nothing else",
            '{"session": "s_…", "tensor": "w"}',
        )
    return Reference(session, tensor)
