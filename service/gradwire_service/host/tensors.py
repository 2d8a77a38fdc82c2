"""Tensors of a session as resources: each call is a request with one step, or a read."""

from __future__ import annotations

from collections.abc import Mapping

from gradwire_engine.errors import GradwireError, error
from gradwire_service.host.deadline import Deadline
from gradwire_service.host.elements import Array
from gradwire_service.host.protocol.names import GRAD, RULE, may_be_written
from gradwire_service.host.protocol.requests import StepsRequest, TensorBody
from gradwire_service.host.protocol.steps import FreeStep, SetGradStep, TensorStep
from gradwire_service.host.reply import Reply, TensorReply
from gradwire_service.host.run import run
from gradwire_service.host.sessions import Session, shown


def listed(session: Session) -> Reply:
    """What there is, by name, without elements."""
    return {
        "items": [
            {
                "name": name,
                "dtype": tensor.dtype.name,
                "shape": tensor.shape,
                "device": tensor.device,
                "bytes": tensor.spec.nbytes,
                "requires_grad": tensor.requires_grad,
                "is_leaf": tensor.is_leaf,
                "has_grad": tensor.grad is not None,
            }
            for name, tensor in sorted(session.tensors.items())
        ]
    }


def one(session: Session, name: str) -> TensorReply:
    """A tensor by name; `x.grad` is a gradient, tensor_not_found where there is none."""
    return shown(name, session.find(name))


def put(
    session: Session,
    name: str,
    body: TensorBody,
    arrays: Mapping[str, Array],
    allowance: int | None = None,
) -> Reply:
    """Make a leaf under this name; the reply shows it without its elements."""
    if not may_be_written(name):
        raise error("invalid_request", f"the name is {name[:140]!r}", RULE)
    step = TensorStep.model_construct(
        tensor=name, value=body.value, dtype=body.dtype, requires_grad=body.requires_grad
    )
    _do(session, step, arrays, allowance)
    return session.reply(name, data=False)


def free(session: Session, name: str) -> None:
    """Forget a name."""
    _do(session, FreeStep.model_construct(free=[name]), {})


def clear_grad(session: Session, name: str) -> None:
    """Remove the gradient of a tensor, if it has one."""
    _do(session, SetGradStep.model_construct(set_grad=name, value=None), {})


def grad(session: Session, name: str) -> TensorReply:
    """The gradient of a tensor."""
    return one(session, name + GRAD)


def _do(
    session: Session,
    step: TensorStep | FreeStep | SetGradStep,
    arrays: Mapping[str, Array],
    allowance: int | None = None,
) -> None:
    request = StepsRequest.model_construct(steps=[step], returns=[])
    try:
        run(session, request, arrays, Deadline(session.limits.seconds), allowance)
    except GradwireError as problem:
        problem.step = None
        raise
