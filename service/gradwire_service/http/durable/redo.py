"""A change of the log run again: the same request in the same state gives the same bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from gradwire_service.host import source, tensors
from gradwire_service.host.deadline import Deadline
from gradwire_service.host.host import Host
from gradwire_service.host.protocol import (
    BackwardRequest,
    GradRequest,
    OpsRequest,
    SessionPatch,
    StepsRequest,
    TensorBody,
    from_source,
    read,
)
from gradwire_service.host.reply import Reply, TensorReply
from gradwire_service.host.run import RunRequest
from gradwire_service.host.safetensors import raw
from gradwire_service.host.sessions import Session
from gradwire_service.http.codec import opened, parsed, read_request

RUN: dict[str, type[Any]] = {
    "steps": StepsRequest, "ops": OpsRequest, "grad": GradRequest, "backward": BackwardRequest,
}  # fmt: skip
"""Changes that are requests which run steps."""
_FOR_EVER = float("inf")

About = Mapping[str, Any]


def digest(reply: Any) -> int:
    """A checksum of the elements in a reply, for what is run again to be compared."""
    found = 0
    pending = [reply]
    while pending:
        value = pending.pop()
        if type(value) is TensorReply:
            if value.array is not None:
                found = crc32(raw(value.array), found)
        elif isinstance(value, dict):
            pending.extend(value.values())
        elif type(value) is list:
            pending.extend(value)
    return found


def redone(host: Host, session: Session, about: About, body: bytes) -> int | None:
    """Run a change again; the digest of what it answers, None where that was an error."""
    what = about["what"]
    if what not in RUN:
        return digest(_OTHER[what](host, session, about, body))
    text, arrays = opened(about["type"], body)
    request: RunRequest = read(RUN[what], parsed(bytes(text), host.limits.depth))
    if about["upto"] is not None:
        request = _beginning(session, request, about["upto"])
    reply = host.run(session, request, arrays, None, Deadline(_FOR_EVER))
    return digest(reply) if about["upto"] is None else None


def _beginning(session: Session, request: Any, count: int) -> StepsRequest:
    """The steps that were kept of a request that failed after them."""
    limits = session.limits
    if isinstance(request, OpsRequest) and request.source is not None:
        read_ = source.read(
            request.source, max_length=limits.source_length, max_steps=limits.steps,
            names=session.tensors,
        )  # fmt: skip
        steps: Any = from_source(read_.steps)
    else:
        steps = request.ops if isinstance(request, OpsRequest) else request.steps
    return StepsRequest.model_construct(
        steps=list(steps[:count]), returns=[], atomic=False, grad_mode=request.grad_mode,
        anomaly=request.anomaly,
    )  # fmt: skip


def _put(host: Host, session: Session, about: About, body: bytes) -> Reply:
    value, arrays = read_request(about["type"], body, depth=host.limits.depth, lone=True)
    for field, given in about["query"].items():
        value.setdefault(field, given)
    return tensors.put(session, about["name"], read(TensorBody, value), arrays)


def _free(_: Host, session: Session, about: About, __: bytes) -> None:
    tensors.free(session, about["name"])


def _clear_grad(_: Host, session: Session, about: About, __: bytes) -> None:
    tensors.clear_grad(session, about["name"])


def _patch(host: Host, session: Session, about: About, body: bytes) -> None:
    text, _ = opened(about["type"], body)
    host.patch(session, read(SessionPatch, parsed(bytes(text), host.limits.depth)))


_OTHER: dict[str, Callable[[Host, Session, About, bytes], Any]] = {
    "put": _put, "free": _free, "clear_grad": _clear_grad, "patch": _patch,
}  # fmt: skip
