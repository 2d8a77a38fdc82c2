"""Programs in the body of a request that runs them once, as plans see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire_engine.tensor import Tensor
from gradwire_service.host.memory import TooMuchHere
from gradwire_service.host.protocol import (
    BindStep,
    EvaluateRequest,
    GradStep,
    OpStep,
    Program,
    ValueAndGradRequest,
)
from gradwire_service.host.repeated import Asked, Done
from gradwire_service.host.reply import Reply
from gradwire_service.host.sessions import Session
from gradwire_service.host.transforms import Transform, names_of

_PLAIN = frozenset({OpStep, BindStep, GradStep})
"""Steps that say all of what they do; others name programs, which can be deleted."""

_LONGEST, _MOST = 2**14, 2**10
"""Characters of source text, and arguments of steps with the elements of literals among them."""

_FEW = 16
"""Steps of a program that is traced on the event loop, which takes some milliseconds."""

_ARGUMENTS = ("args", "kwargs")


def asked(request: EvaluateRequest) -> Asked | None:
    """The request by its program's address, which the same program has again; None if it is odd."""
    program, given = request.program, request.inputs
    names = names_of(program)
    if len(names) != len(given) or not given.keys() >= set(names):
        return None
    key: tuple[Any, ...] = (id(program),)
    vectors = {}
    if isinstance(request, ValueAndGradRequest):
        wrt, cotangents = request.wrt, request.grad_outputs
        key = (id(program), None if wrt is None else tuple(wrt))
        if cotangents is not None:
            vectors = {name: value for name, value in cotangents.items() if value is not None}
            key = (*key, tuple(cotangents), tuple(vectors))
    return Asked(key, program, [given[name] for name in names], vectors)


def done(was: Transform, reply: Reply, trying: Callable[[], Session]) -> Done | None:
    """What was run, for plans; None if it is none of theirs. `trying` gives a session to trace in.

    Raises TooMuchHere where it should be traced in a thread.
    """
    if not all(type(step) in _PLAIN for step in was.program) or not _short(was.request.program):
        return None
    dtypes = {name: output.dtype for name, output in was.outputs.items()}
    function = _function(was, trying)
    return Done(was.given, was.cotangents, dtypes, reply, function)


def _function(was: Transform, trying: Callable[[], Session]) -> Callable[..., list[Tensor]]:
    inline = was.session.meter.allowance is not None

    def function(*tensors: Tensor) -> list[Tensor]:
        if inline and len(was.program) > _FEW:
            raise TooMuchHere
        session = trying()
        try:
            request = _with(was, tensors)
            return list(Transform(session, request, {}, was.fetch).tensors())
        finally:
            session.close()

    return function


def _with(was: Transform, tensors: Sequence[Tensor]) -> EvaluateRequest:
    """The request with tensors in place of literals."""
    left = iter(tensors)
    changed: dict[str, Any] = {"inputs": {name: next(left) for name in was.leaves}}
    if was.cotangents:
        given = dict.fromkeys(vars(was.request)["grad_outputs"])
        changed["grad_outputs"] = given | {name: next(left) for name in was.cotangents}
    return was.request.model_copy(update=changed)


def _short(program: Program) -> bool:
    """Whether a program is so short that it may be kept."""
    if program.source is not None:
        return len(program.source) <= _LONGEST
    steps = program.ops or ()
    return _count([getattr(step, name, None) for step in steps for name in _ARGUMENTS]) <= _MOST


def _count(value: Any) -> int:
    """How many values there are in a JSON value; no further than matters."""
    pending, count = [value], 0
    while pending and count <= _MOST:
        item = pending.pop()
        count += 1
        if type(item) is dict:
            pending.extend(item.values())
        elif type(item) is list:
            pending.extend(item[: _MOST + 1])
    return count
