"""What a program will take, as data or as a picture."""

from __future__ import annotations

from typing import Any

from gradwire_service.host.programs import Program
from gradwire_service.host.protocol.transforms import TRANSFORMS
from gradwire_service.http.answer import Answer
from gradwire_service.http.call import Call
from gradwire_service.http.drawing import asked_format, drawn
from gradwire_service.http.routes.applied import found


async def plan(call: Call) -> Answer:
    """What a program will take for inputs of given shapes; nothing is run."""
    return await _answer(call, TRANSFORMS["plan"].inline)


async def program_plan(call: Call) -> Answer:
    """What a program will take for inputs of given shapes; nothing is run. A stored program."""
    return await _answer(call, TRANSFORMS["plan"].stored, call.host.programs.find(call.path["id"]))


async def _answer(call: Call, kind: Any, program: Program | None = None) -> Answer:
    form = asked_format(call)
    if form == "json":
        call.form()
    request, reply = await found(call, "plan", kind, program)
    if form == "json":
        return await call.replied(reply)
    return await call.executor.apart(lambda: _drawn(call, form, request, reply))


def _drawn(call: Call, form: str, request: Any, reply: Any) -> Answer:
    from gradwire_service.host.picture.plan import plan_graph

    inputs = {name: {"dtype": x.dtype, "shape": x.shape} for name, x in request.inputs.items()}
    return drawn(call, form, plan_graph(reply, inputs))
