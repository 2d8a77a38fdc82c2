"""Transforms in one call, of a stored program or of one in the body."""

from __future__ import annotations

from functools import partial
from typing import Any

from gradwire_service.host.cost import ALLOWANCE
from gradwire_service.host.elements import Array
from gradwire_service.host.once import Reference, references
from gradwire_service.host.programs import Program
from gradwire_service.host.protocol.requests import Program as Model
from gradwire_service.host.protocol.transforms import TRANSFORMS
from gradwire_service.host.reply import Filled, Reply
from gradwire_service.http.answer import Answer
from gradwire_service.http.body import SMALL
from gradwire_service.http.call import Call
from gradwire_service.http.drawing import asked_format, drawn
from gradwire_service.http.route import Handler

ABOUT = {
    "evaluate": "Run a program on inputs and answer its outputs; nothing is kept.",
    "value_and_grad": "Run a program and differentiate its outputs by its inputs; nothing is kept.",
    "vjp": "Run a program, and a vector times its jacobian: one walk back.",
    "jvp": "Run a program, and its jacobian times a vector.",
    "hvp": "The hessian of a scalar output times a vector.",
    "vhp": "A vector times the hessian of a scalar output.",
    "plan": "What a program will take for inputs of given shapes; nothing is run.",
    "jacobian": "The derivative of each element of each output by each element of each input.",
    "gradcheck": "Compare the derivatives of a program with central differences.",
    "gradgradcheck": "Compare the second derivatives of a program with central differences.",
    "hessian": "The second derivatives of a scalar output, for each pair of inputs.",
}
"""What each transform does, in a sentence."""
_ABOUT_STORED = ABOUT | {
    "value_and_grad": "Run a program and differentiate its outputs by its inputs."
}


def stored(transform: str) -> Handler:
    """The handler of a transform of the program that the path names."""

    async def handler(call: Call) -> Answer:
        program = call.host.programs.find(call.path["id"])
        return await _answer(call, transform, TRANSFORMS[transform].stored, program)

    return _named(handler, f"program_{transform}", f"{_ABOUT_STORED[transform]} A stored program.")


def inline(transform: str) -> Handler:
    """The handler of a transform of a program in the body."""

    async def handler(call: Call) -> Answer:
        return await _answer(call, transform, TRANSFORMS[transform].inline)

    return _named(handler, transform, ABOUT[transform])


def _named(handler: Any, name: str, about: str) -> Handler:
    handler.__name__, handler.__doc__ = name, about
    found: Handler = handler
    return found


async def _answer(
    call: Call, transform: str, kind: Any, program: Program | Model | None = None
) -> Answer:
    await call.body()
    form = asked_format(call) if transform == "plan" else "json"
    if form == "json":
        call.form()
    request, reply = await _found(call, transform, kind, program)
    if form == "json":
        return await call.replied(reply)
    return await call.executor.apart(lambda: _plan_drawn(call, form, request, reply))


def _plan_drawn(call: Call, form: str, request: Any, reply: Any) -> Answer:
    """A plan as a picture."""
    from gradwire_service.host.picture.plan import plan_graph

    inputs = {name: {"dtype": x.dtype, "shape": x.shape} for name, x in request.inputs.items()}
    return drawn(call, form, plan_graph(reply, inputs))


async def _found(
    call: Call, transform: str, kind: Any, program: Program | Model | None = None
) -> tuple[Any, Reply | Filled]:
    """The request that the body holds, and the reply to it."""
    body = await call.body()
    executor = call.executor
    if len(body) > SMALL:
        request, arrays = await executor.apart(lambda: call.read(kind, body))
    else:
        request, arrays = call.read(kind, body)
    fetch = {r: await _fetched(call, r) for r in dict.fromkeys(references(request))}
    host = call.host

    def work(allowance: int | None = None) -> Any:
        return host.once.apply(
            transform,
            request.program if program is None else program,
            request,
            arrays,
            fetch.__getitem__,
            allowance,
            call.until(),
        )

    small = partial(work, ALLOWANCE) if len(body) <= SMALL and not fetch else None
    return request, await executor.apart(work, small)


async def _fetched(call: Call, wanted: Reference) -> Array:
    """The elements of a tensor of a session, after all that came before in it."""
    host = call.host
    session = host.session(wanted.session)
    fetch = partial(host.fetch, wanted)
    return await call.executor.run(session, fetch, fetch)
