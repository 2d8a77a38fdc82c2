"""Whose request the event loop takes up next: in each of its rounds every tenant has a turn.

Requests that are cheap run where they are read, one behind the other. A tenant with a hundred
connections would have a hundred of them run before anybody else's is looked at; so what comes in a
round after its first has to wait for the next, unless the round has been short so far.

Between two rounds the event loop rests where the threads that compute have work and don't get their
part of the processor: it would have them starve for requests that are cheap.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from gradwire_engine.errors import GradwireError, error

if TYPE_CHECKING:
    from gradwire_service.http.tenant import Tenant

SHORT = 0.5e-3
"""Seconds that a round may last before the second request of a tenant waits."""
_ROUND = 0.5e-3
"""Seconds of a round where all are one tenant: whoever asks for the server's health waits as long.
"""
_REST = 5e-3
"""Seconds that the event loop rests between two rounds, at most."""
_LOOK = 1e-3
"""Seconds after which it looks whether it may go on."""
_SHORTEST = 1e-5
"""Seconds that a request takes at least, where clocks are coarse."""
_SMOOTH = 16
"""Rounds over which the usual time of a request is taken, about; of this thread's own time."""


class Queue(deque[asyncio.Future[None]]):
    """A tenant's requests that wait for their turn. round: the last one in which it had one."""

    round = -1


class Turns:
    """The rounds of one event loop. shared: by tenants, each of whom has one request in a round.

    behind: whether the threads that compute are to get on first.
    """

    def __init__(self, shared: bool, behind: Callable[[], bool]) -> None:
        self._shared, self._behind = shared, behind
        self._rests_until = 0.0
        self._round = 0
        self._began = 0.0
        self._waiting: deque[Queue] = deque()
        self._given = 0
        self._spent = 0.0
        self._usual = _ROUND

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
        """Wait for the turn of this request; it is refused where too many wait."""
        if len(tenant.queue) >= tenant.host.limits.requests:
            raise self.refusal(tenant)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not tenant.queue:
            self._waiting.append(tenant.queue)
        tenant.queue.append(turn)
        await turn

    def refusal(self, tenant: Tenant) -> GradwireError:
        """What those are told for whom there is no place to wait."""
        waiting, limit = len(tenant.queue), tenant.host.limits.requests
        raised = error(
            "overloaded",
            f"{waiting} requests wait for their turn, and the limit is {limit}",
            "send it again a little later",
        )
        raised.retry_after = self.patience(tenant)
        return raised

    def patience(self, tenant: Tenant) -> float:
        """Seconds after which those who wait now have had their turn, as far as can be known."""
        return len(tenant.queue) * self._usual

    def _next(self) -> None:
        """A new round: each tenant that waits has a request go on; where all are one, a few do."""
        now, spent = time.monotonic(), time.thread_time()
        if self._given:
            self._usual += ((spent - self._spent) / self._given - self._usual) / _SMOOTH
        self._spent = spent
        self._round += 1
        self._began, self._given = 0.0, 0
        if self._rests(now):
            self._began = now
            asyncio.get_running_loop().call_later(_LOOK, self._next)
            return
        few = (
            len(self._waiting)
            if self._shared
            else max(1, int(_ROUND / max(self._usual, _SHORTEST)))
        )
        for _ in range(few):
            if self._waiting:
                self._let_go()
        if self._waiting or self._given:
            self._began = now
            asyncio.get_running_loop().call_soon(self._next)

    def _rests(self, now: float) -> bool:
        """Whether those who wait do so a little longer, for the sake of the threads."""
        if not (self._waiting and self._behind()):
            self._rests_until = 0.0
        elif not self._rests_until:
            self._rests_until = now + _REST
        elif now >= self._rests_until:  # the processor is somebody else's
            self._rests_until = 0.0
        return self._rests_until > 0

    def _let_go(self) -> None:
        """The first one of the queue whose turn it is goes on."""
        queue = self._waiting.popleft()
        queue.round = self._round
        while queue:
            turn = queue.popleft()
            if not turn.done():
                turn.set_result(None)
                self._given += 1
                break
        if queue:
            self._waiting.append(queue)
