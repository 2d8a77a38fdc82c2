"""Programs as resources."""

from __future__ import annotations

from functools import partial

from gradwire_service.host.programs import Stored
from gradwire_service.host.protocol.requests import Program
from gradwire_service.host.safetensors import Buffer
from gradwire_service.http.answer import Answer
from gradwire_service.http.body import SMALL
from gradwire_service.http.call import Call
from gradwire_service.http.paging import page


async def create_program(call: Call) -> Answer:
    """Check a program and keep it; its id is the hash of its normal form."""
    body = await call.body()
    call.form()
    work = partial(_made, call, body)
    made = work() if len(body) <= SMALL else await call.executor.apart(work)
    keeper = call.service.keeper
    if keeper is None:
        stored, new = call.host.programs.add(made)
    else:
        stored, new = await keeper.programs.post(call.tenant, made)
    location = (b"location", f"/v1/programs/{stored.program.id}".encode())
    return call.answer(stored.describe(), 201 if new else 200, (location,))


def _made(call: Call, body: Buffer) -> Stored:
    return call.host.programs.made(*call.read(Program, body))


async def list_programs(call: Call) -> Answer:
    """Programs, oldest first; `next` is the cursor of what follows, or null."""
    return call.answer(page(call, call.host.programs.all()))


async def read_program(call: Call) -> Answer:
    """One program: what it takes, does and gives."""
    return call.answer(call.host.programs.stored(call.path["id"]).describe())


async def delete_program(call: Call) -> Answer:
    """Forget a program; programs that call it, and what runs, keep it."""
    key, keeper = call.path["id"], call.service.keeper
    if keeper is None:
        call.host.programs.delete(key)
    else:
        await keeper.programs.delete(call.tenant, key)
    return Answer(204)
