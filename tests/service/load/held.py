"""Sessions: ten thousand that lie there, and a hundred thousand that come and go."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from itertools import count

import httpx
from tests.service.load.lines import Line, most, none
from tests.service.load.questions import JSON, posted
from tests.service.load.server import Server, on_core, served
from tests.service.load.wire import Wire

KIB = 2**10
_AT_ONCE = 8
_PATIENCE = 30.0
_LIVES = 2.0
"""Seconds to live of a session that comes and goes."""
_USED = json.dumps({
    "steps": [
        {"tensor": "x", "value": [0.5] * 16, "requires_grad": True},
        {"op": "tanh", "args": ["x"], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "z"},
        {"backward": {"tensors": ["z"], "retain_graph": True}},
    ],
    "return": ["x.grad"],
}).encode()  # fmt: skip
_PER_IDLE = 20_000
_PER_CYCLE = 16
"""Bytes of growth for each session that was: less than any object has."""
_SCATTERED, _LEAST_SCATTERED = 512, 512 * KIB
"""Bytes for each session of a wave, and in all, by which the allocator's pools may differ from one
wave to the next: a tenth of what the wave took. They settle within some ten thousand lives."""


def idle(sessions: int, tick: Callable[[], object]) -> list[Line]:
    """Make so many, use each once, and look at what they take beyond their tensors."""
    most_sessions = {"sessions": sessions + 200, "tenant_sessions": sessions + 200}
    with served(**most_sessions) as server, on_core(1):
        _lives(server, 100, {}, lambda: None)
        before = server.resident()
        made, odd = _lives(server, sessions, {}, tick)
        elements = _elements(server.client, made[0]) * sessions
        each = (server.resident() - before - elements) / sessions
        return [
            none("answers that make and use a session, beside 200 and 201", odd),
            most(f"each of {sessions:,} idle sessions, beyond its elements", each, _PER_IDLE, " B"),
        ]


def cycles(number: int, wave: int, tick: Callable[[], object]) -> list[Line]:
    """Make sessions, use them, let them expire, so many at a time; nothing of them may stay."""
    warm = max(2 * wave, number // 4)  # what is remembered of those that are gone is full by then
    few = {"remembered": max(1, warm // 2), "tenant_sessions": wave + 100}
    with served(**few) as server, on_core(1):
        odd, resident, done = list[str](), list[tuple[int, int]](), 0
        while done < number:
            odd += _lives(server, wave, {"ttl_seconds": _LIVES}, tick)[1]
            done += wave
            left = _gone(server)
            resident.append((done, server.resident()))
    before = max(nbytes for lives, nbytes in resident if lives <= warm)
    lives, growth = number - warm, (resident[-1][1] - before) / KIB
    bound = (lives * _PER_CYCLE + max(_LEAST_SCATTERED, wave * _SCATTERED)) / KIB
    return [
        none("answers in cycles of sessions, beside 200 and 201", odd),
        most("sessions and bytes that are left", left, 0),
        most(f"growth over {lives:,} lives of sessions", growth, bound, " KiB"),
    ]


def _gone(server: Server) -> float:
    """Wait until the last has expired; what is left all the same."""
    end = time.monotonic() + _PATIENCE
    while server.metric("gradwire_sessions") and time.monotonic() < end:
        time.sleep(0.1)
    return server.metric("gradwire_sessions") + server.metric("gradwire_bytes")


def _elements(client: httpx.Client, session: str) -> int:
    held = client.get(f"/v1/sessions/{session}").json()["bytes"]
    return int(held["total"])


def _lives(
    server: Server, number: int, fields: dict[str, object], tick: Callable[[], object]
) -> tuple[list[str], list[str]]:
    """Make so many sessions and use each once; their ids, and what was answered wrongly."""
    left, made, odd = count(), list[str](), list[str]()
    begin = posted("/v1/sessions", json.dumps(fields).encode(), JSON)

    async def some() -> None:
        wire = await Wire.to(server.port)
        while next(left) < number:
            reply = await wire.ask(begin)
            if reply.status != 201:
                odd.append(f"{reply.status}: {reply.body[:200]!r}")
                continue
            key = str(json.loads(reply.body)["id"])
            made.append(key)
            reply = await wire.ask(posted(f"/v1/sessions/{key}/steps", _USED))
            if reply.status != 200:
                odd.append(f"{reply.status}: {reply.body[:200]!r}")
            tick()
        wire.close()

    async def all_of_them() -> None:
        await asyncio.gather(*(some() for _ in range(_AT_ONCE)))

    asyncio.run(all_of_them())
    return made, odd
