"""Twice as much asked as can be served: everybody is answered or told when to come back."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from statistics import median, quantiles
from typing import NamedTuple

from tests.service.load import clients, health
from tests.service.load.clients import Burst, Found, together
from tests.service.load.lines import Line, least, most, none
from tests.service.load.questions import JSON, begun, counted
from tests.service.load.server import Server, served, settle

Tick = Callable[[str, float], object]
"""Told what goes on, and how many seconds of it are over since it was told last."""
CLIENTS = 64
_LOOK = 0.25
_PIECE = 15
"""Seconds of the load at a stretch, about. Each piece has its own idle time and half load before
it: a machine that others use as well is now slower and now faster, by as much as is measured here.
"""
_BURST = 1.25
"""Requests at one moment, of those that a tenant may have wait."""


def _settle(back: bool) -> None:
    settle(1)
    if back and hasattr(os, "SCHED_BATCH"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


@contextmanager
def _process(*, back: bool) -> Iterator[ProcessPoolExecutor]:
    """A process on the clients' core. back: others on it go first."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn, _settle, (back,)) as found:
        yield found


def flood(seconds: float, seed: int, tick: Tick, **settings: object) -> list[Line]:
    """All of it: idle, all it can, as much as that at any time, half the load, the load, a burst.

    What it serves of as much at any time is half the load: so twice that is offered. Who asks steps
    back for who looks at the server's health: it is the server that is measured.
    """
    with (
        _process(back=True) as asking,
        _process(back=False) as looking,
        served(**settings) as server,
    ):
        return Flood(server, asking, looking, seconds, seed, tick).lines()


class Piece(NamedTuple):
    """A piece of a run: seconds that health took, and what came of the questions.

    before: of those that were only to find out what half the load is.
    """

    idle: list[float]
    before: Found
    half: Found
    found: Found
    busy: list[float]


class Flood:
    """One run. seconds: of the load itself; what goes before takes a part of that."""

    def __init__(
        self,
        server: Server,
        asking: ProcessPoolExecutor,
        looking: ProcessPoolExecutor,
        seconds: float,
        seed: int,
        tick: Tick,
    ) -> None:
        self.server, self.asking, self.looking = server, asking, looking
        self.seconds, self.seed, self.tick = seconds, seed, tick
        self.resident: list[int] = []
        self.sessions = [self._session() for _ in range(CLIENTS)]

    def _session(self) -> str:
        key = str(self.server.client.post("/v1/sessions", json={}).json()["id"])
        path = f"/v1/sessions/{key}/steps"
        reply = self.server.client.post(path, content=begun(), headers={"content-type": JSON})
        assert reply.status_code == 200, reply.text
        return key

    def _wait(self, what: str, future: Future[Found]) -> Found:
        """Until it is done; the server's memory is looked at meanwhile."""
        before = time.monotonic()
        while not future.done():
            time.sleep(_LOOK)
            self.resident.append(self.server.resident())
            now = time.monotonic()
            self.tick(what, now - before)
            before = now
        return future.result()

    def _paced(self, what: str, rate: float, seconds: float) -> Found:
        arguments = (self.server.port, self.sessions, rate, seconds, self.seed)
        return self._wait(what, self.asking.submit(clients.paced, *arguments))

    def lines(self) -> list[Line]:
        """Run it; what it has to show."""
        count = max(1, round(self.seconds / _PIECE))
        pieces = [self._piece(self.seconds / count) for _ in range(count)]
        before, half, found = (
            together(getattr(piece, name) for piece in pieces)
            for name in ("before", "half", "found")
        )
        idle, busy = (
            [seconds for piece in pieces for seconds in getattr(piece, name)]
            for name in ("idle", "busy")
        )
        limits = self.server.client.get("/v1/info").json()["limits"]
        many = int(_BURST * limits["tenant_requests"])
        burst = self.asking.submit(clients.burst, self.server.port, many).result()
        self.tick("a burst", 0)
        return [
            *_answers([before, half, found, burst.first, burst.later]),
            *self._accumulated([before, half, found]),
            none("failures in the server's log", self.server.failures()),
            *_refusals(found, burst),
            *_figures(half, found, idle, busy, self.resident),
        ]

    def _piece(self, seconds: float) -> Piece:
        """A piece of the load, and a quarter of its time for each that goes before."""
        before, port = seconds / 4, self.server.port
        idle = self.looking.submit(health.watch, port, before).result()
        self.tick("idle", before)
        resident = len(self.resident)
        most_of_it = self._wait(
            "all it can", self.asking.submit(clients.again, port, self.sessions, before, self.seed)
        )
        enough = self._paced("as much at any time", most_of_it.rate, before)
        half = self._paced("half the load", enough.rate, before)
        del self.resident[resident:]
        looked = self.looking.submit(health.watch, port, seconds)
        found = self._paced("the load", 2 * enough.rate, seconds)
        return Piece(idle, together([most_of_it, enough]), half, found, looked.result())

    def _accumulated(self, all_found: list[Found]) -> Iterator[Line]:
        """Each session's gradient has grown once for each answer, and not for any refusal."""
        unlike = []
        for session in self.sessions:
            answers = sum(found.counted[session] for found in all_found)
            reply = self.server.client.post(
                f"/v1/sessions/{session}/steps", json={"steps": [], "return": ["c.grad"]}
            ).json()["values"]["c.grad"]
            held = None if reply is None else reply["data"]
            if held != counted(answers):
                unlike.append(f"{held} after {answers} answers")
        yield none("sessions that are not as they were answered", unlike)


def _answers(all_found: list[Found]) -> Iterator[Line]:
    total = sum(found.served.total() for found in all_found)
    wrong = [one for found in all_found for one in found.wrong]
    yield none(f"wrong gradients in {total:,} answers", wrong)
    odd = [one for found in all_found for one in found.odd]
    yield none("answers beside 200, and 429 or 503 with Retry-After", odd)


def _refusals(found: Found, burst: Burst) -> Iterator[Line]:
    refused = burst.first.refused.total()
    yield least("refused of a burst", refused, 1)
    yield none("of those, never served though they came back as they were told", burst.never)
    again = burst.later.refused.total() / max(1, refused)
    yield most("times that each of them was refused again", again, 0.1, timed=True)
    unsent = found.unsent / found.offered
    yield most("of the load, never sent for want of a socket", unsent, 0.01, timed=True)
    yield most("a burst until its last answer", burst.seconds, 10, " s", timed=True)


def _figures(
    half: Found, found: Found, idle: list[float], busy: list[float], held: list[int]
) -> Iterator[Line]:
    offered = found.offered / found.seconds / half.rate
    yield least("offered, of what is served at half the load", offered, 1.8, timed=True)
    yield least("served, of the same", found.rate / half.rate, 0.8, timed=True)
    ratio = p99(busy) / p99(idle)
    yield most(f"health p99, of {p99(idle) * 1e3:.2f} ms when idle", ratio, 3.0, timed=True)
    part = max(1, len(held) // 5)
    growth = median(held[-part:]) / median(held[part : 2 * part] or held) - 1
    yield most("growth of memory after warm-up", 100 * growth, 5, " %", timed=True)


def p99(seconds: list[float]) -> float:
    """What 99 of 100 don't pass."""
    return quantiles(seconds, n=100)[98]
