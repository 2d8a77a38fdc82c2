"""Whose request the event loop takes up next: in each of its rounds every tenant has a turn.

Requests that are cheap run where they are read, one behind the other. A tenant with a hundred
connections would have a hundred of them run before anybody else's is looked at; so what comes in a
round after its first has to wait for the next, unless the round has been short so far.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire_service.http.tenant import Tenant

SHORT = 0.5e-3
"""Seconds that a round may last before the second request of a tenant waits."""


class Queue(deque[asyncio.Future[None]]):
    """A tenant's requests that wait for their turn. round: the last one in which it had one."""

    round = -1


class Turns:
    """The rounds of one event loop."""

    def __init__(self) -> None:
        self._round = 0
        self._began = 0.0
        self._waiting: deque[Queue] = deque()

    def now(self, tenant: Tenant, at: float) -> bool:
        """Whether a request that came at this time (of time.monotonic) may go on at once."""
        if not self._began:
            self._began = at
            asyncio.get_running_loop().call_soon(self._next)
        queue = tenant.queue
        if queue:
            return False
        first = queue.round != self._round
        queue.round = self._round
        return first or at - self._began < SHORT

    async def wait(self, tenant: Tenant) -> None:
        """Wait for the turn of this request."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not tenant.queue:
            self._waiting.append(tenant.queue)
        tenant.queue.append(turn)
        await turn

    def _next(self) -> None:
        """A new round: each tenant that waits has a request go on."""
        self._round += 1
        self._began = 0.0
        loop = asyncio.get_running_loop()
        for _ in range(len(self._waiting)):
            queue = self._waiting.popleft()
            queue.round = self._round
            while queue:
                turn = queue.popleft()
                if not turn.done():
                    turn.set_result(None)
                    break
            if queue:
                self._waiting.append(queue)
        if self._waiting:
            self._began = loop.time()
            loop.call_soon(self._next)
