"""The clients: they ask at their own pace (open loop), or again as soon as they are answered.

In one process, which the server's core has nothing to do with.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field, fields
from random import Random
from typing import Any, NamedTuple, TypeVar

from tests.service.load.questions import KINDS, Question, questions, slow
from tests.service.load.wire import Reply, Wire

T = TypeVar("T")
REFUSALS = (429, 503)
_CONNECTIONS = 48
"""Requests that one client may have under way; it asks nobody's leave, but has no more sockets."""
_PATIENCE = 60.0
_TIMES = 5
"""How often somebody comes back who is refused."""
_SLOW = 4
"""Slow questions that differ."""


@dataclass
class Found:
    """What came of the questions. offered: asked, or not even that for want of a connection."""

    offered: int = 0
    seconds: float = 0.0
    served: Counter[str] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)
    unsent: int = 0
    wrong: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        """Right answers a second."""
        return self.served.total() / self.seconds

    def note(self, question: Question, reply: Reply, session: str) -> None:
        """Look at an answer."""
        if reply.status == 200:
            if not question.right(reply.body):
                self.wrong.append(f"{question.kind}: {reply.body[:200]!r}")
            self.served[question.kind] += 1
            self.taken.append(reply.seconds)
            if question.kind == "counted":
                self.counted[session] += 1
        elif reply.status in REFUSALS and reply.retry_after is not None and reply.retry_after > 0:
            self.refused[reply.status] += 1
        else:
            self.odd.append(f"{reply.status} to {question.kind}: {reply.body[:200]!r}")


def together(parts: Iterable[Found]) -> Found:
    """What came of all of them."""
    whole = Found()
    for part in parts:
        for one in fields(Found):
            setattr(whole, one.name, getattr(whole, one.name) + getattr(part, one.name))
    return whole


class Clients:
    """Each with its session and its connections."""

    def __init__(self, port: int, sessions: list[str], seed: int) -> None:
        self.port, self.sessions = port, sessions
        self.draw = Random(seed)
        self.asked = {session: questions(session) for session in sessions}
        self.free: dict[str, list[Wire]] = {session: [] for session in sessions}
        self.open: Counter[str] = Counter()
        self.under_way: set[asyncio.Task[None]] = set()
        self.found = Found()

    def any_question(self, session: str) -> Question:
        """One of any kind, as often as its share says."""
        names, shares = list(KINDS), [kind.share for kind in KINDS.values()]
        name = self.draw.choices(names, shares)[0]
        return self.draw.choice(self.asked[session][name])

    def begin(self, session: str) -> None:
        """Ask something, on a connection that is free or new."""
        self.found.offered += 1
        if self.open[session] - len(self.free[session]) >= _CONNECTIONS:
            self.found.unsent += 1
            return
        task = asyncio.ensure_future(self.ask(session, self.any_question(session)))
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)

    async def ask(self, session: str, question: Question) -> None:
        """Ask it, and look at the answer."""
        try:
            wire = self._free(session)
            if wire is None:
                self.open[session] += 1
                wire = await Wire.to(self.port)
            reply = await wire.ask(question.request)
        except OSError as problem:
            self.open[session] -= 1
            self.found.odd.append(f"no answer to {question.kind}: {problem!r}")
            return
        self.free[session].append(wire)
        self.found.note(question, reply, session)

    def _free(self, session: str) -> Wire | None:
        """A connection that lies idle, but not for so long that the server may hang up now."""
        free = self.free[session]
        while free:
            wire = free.pop()
            if wire.fresh:
                return wire
            wire.close()
            self.open[session] -= 1
        return None

    async def paced(self, rate: float, seconds: float) -> None:
        """Questions at random moments, so many a second, whatever becomes of those before."""
        loop = asyncio.get_running_loop()
        began = at = loop.time()
        while loop.time() < began + seconds:
            at += self.draw.expovariate(rate)
            if (wait := at - loop.time()) > 0:
                await asyncio.sleep(wait)
            self.begin(self.draw.choice(self.sessions))
            if self.found.offered % 64 == 0:
                await asyncio.sleep(0)  # who is behind has to look at answers, too
        await self.rest()
        self.found.seconds = loop.time() - began

    async def again(self, seconds: float) -> None:
        """Each client has one question under way, all the time."""
        began = time.monotonic()

        async def one(session: str) -> None:
            while time.monotonic() < began + seconds:
                self.found.offered += 1
                await self.ask(session, self.any_question(session))

        await asyncio.gather(*map(one, self.sessions))
        self.found.seconds = time.monotonic() - began

    async def rest(self) -> None:
        """Wait for what is under way."""
        if self.under_way:
            _, late = await asyncio.wait(self.under_way, timeout=_PATIENCE)
            self.found.odd += [f"no answer within {_PATIENCE:g} s"] * len(late)

    def close(self) -> None:
        """Close the connections."""
        for wire in [wire for wires in self.free.values() for wire in wires]:
            wire.close()


def _run(clients: Clients, work: Coroutine[Any, Any, None]) -> Found:
    async def whole() -> None:
        await work
        clients.close()

    asyncio.run(whole())
    return clients.found


def paced(port: int, sessions: list[str], rate: float, seconds: float, seed: int) -> Found:
    """What comes of so many questions a second."""
    clients = Clients(port, sessions, seed)
    return _run(clients, clients.paced(rate, seconds))


def again(port: int, sessions: list[str], seconds: float, seed: int) -> Found:
    """What comes of a question from each client at any time."""
    clients = Clients(port, sessions, seed)
    return _run(clients, clients.again(seconds))


class Burst(NamedTuple):
    """Questions at one moment: what came of them first, later, and of those for ever.

    seconds: until the last was answered or refused.
    """

    first: Found
    later: Found
    never: list[str]
    seconds: float


def burst(port: int, count: int) -> Burst:
    """So many slow questions at one moment; those refused come back when they were told to."""

    async def one(number: int) -> None:
        wire, question = await Wire.to(port), slow(number % _SLOW)
        everybody.append(number)
        while len(everybody) < count:
            await asyncio.sleep(0.001)
        reply = await wire.ask(question.request)
        first.note(question, reply, "")
        ended.append(time.monotonic())
        for _ in range(_TIMES):
            if reply.status not in REFUSALS:
                break
            await asyncio.sleep(reply.retry_after or 0)
            wire.close()
            wire = await Wire.to(port)
            reply = await wire.ask(question.request)
            later.note(question, reply, "")
        never.extend([f"{reply.status} after {_TIMES} times"] * (reply.status in REFUSALS))
        wire.close()

    async def all_at_once() -> None:
        await asyncio.gather(*map(one, range(count)))

    first, later, ended = Found(offered=count), Found(), [time.monotonic()]
    never: list[str] = []
    everybody: list[int] = []
    asyncio.run(all_at_once())
    return Burst(first, later, never, max(ended) - ended[0])
