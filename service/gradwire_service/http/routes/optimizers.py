"""Optimisers of a session, to be read."""

from __future__ import annotations

from gradwire_service.host import optimizers
from gradwire_service.http.answer import Answer
from gradwire_service.http.call import Call


async def list_optimizers(call: Call) -> Answer:
    """Every optimiser: its kind, its settings, and what it keeps of each parameter."""
    session = call.session()
    call.form()

    def listed() -> Answer:
        with call.host.using(call.path["id"]) as held:
            return call.answer(optimizers.listed(held))

    return await call.executor.run(session, listed)
