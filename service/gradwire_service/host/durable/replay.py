"""A change of the log run again: the same request in the same state gives the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradwire_service.host import tensors
from gradwire_service.host.deadline import Deadline
from gradwire_service.host.durable.digest import Digest, digest
from gradwire_service.host.elements import Array
from gradwire_service.host.host import Host
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.requests import (
    BackwardRequest,
    GradRequest,
    OpsRequest,
    SessionPatch,
    StepsRequest,
    TensorBody,
)
from gradwire_service.host.reply import Reply
from gradwire_service.host.run import RunRequest, steps_of
from gradwire_service.host.sessions import Session
from gradwire_service.host.steps import Steps

RUN: dict[str, type[Any]] = {
    "steps": StepsRequest, "ops": OpsRequest, "grad": GradRequest, "backward": BackwardRequest,
}  # fmt: skip
"""Changes that are requests which run steps."""
_FOR_EVER = float("inf")

About = Mapping[str, Any]
Decode = Callable[[str | None, bytes, bool], tuple[dict[str, Any], Mapping[str, Array]]]
"""Reads a body by its media type; whether it may be one array, which is then `value`."""


def replayed(
    host: Host, session: Session, about: About, body: bytes, decode: Decode
) -> Digest | None:
    """Run a change again; the digest of what it answers, None where that was an error."""
    what = about["what"]
    if what not in RUN:
        value, arrays = decode(about["type"], body, what == "put") if body else ({}, {})
        return digest(_OTHER[what](host, session, about, value, arrays))
    value, arrays = decode(about["type"], body, False)
    request: RunRequest = read(RUN[what], value)
    if about["upto"] is not None:
        request = _beginning(session, request, about["upto"])
    reply = host.run(session, request, arrays, None, Deadline(_FOR_EVER))
    return digest(reply) if about["upto"] is None else None


def _beginning(session: Session, request: Any, count: int) -> StepsRequest:
    """The steps that were kept of a request that failed after them."""
    kept: Any = list(steps_of(request, Steps(session, {}))[:count])
    return StepsRequest.model_construct(
        steps=kept, returns=[], atomic=False, grad_mode=request.grad_mode, anomaly=request.anomaly,
    )  # fmt: skip


Value = dict[str, Any]
Arrays = Mapping[str, Array]


def _put(_: Host, session: Session, about: About, value: Value, arrays: Arrays) -> Reply:
    for field, given in about["query"].items():
        value.setdefault(field, given)
    return tensors.put(session, about["name"], read(TensorBody, value), arrays)


_OTHER: dict[str, Callable[[Host, Session, About, Value, Arrays], Any]] = {
    "put": _put,
    "free": lambda _, session, about, *__: tensors.free(session, about["name"]),
    "clear_grad": lambda _, session, about, *__: tensors.clear_grad(session, about["name"]),
    "patch": lambda host, session, _, value, __: host.patch(session, read(SessionPatch, value)),
}
