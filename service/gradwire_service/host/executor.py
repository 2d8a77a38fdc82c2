"""Where a tenant's work runs: one lane per session, in order of arrival; small work here, the rest
in threads.

Requests to different sessions run side by side. Nothing but this module and the pool knows of
threads. How many may wait is bounded, for a session, for the tenant and for the server.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from gradwire_engine.errors import GradwireError, error
from gradwire_service.host.limits import Limits
from gradwire_service.host.memory import TooMuchHere
from gradwire_service.host.pool import Pool
from gradwire_service.host.rates import Bucket
from gradwire_service.host.sessions import Session

T = TypeVar("T")
R = TypeVar("R")
_MINUTE = 60.0


class Lane:
    """One at a time, in order of arrival; entering a free lane takes no turn of the event loop."""

    __slots__ = ("_waiting", "busy")

    def __init__(self) -> None:
        self.busy = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._waiting) + self.busy

    async def enter(self) -> None:
        """Wait for all who came before."""
        if not self.busy:
            self.busy = True
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # its turn had come already
                self.leave()
            elif turn in self._waiting:  # nobody passed it over yet
                self._waiting.remove(turn)
            raise

    def leave(self) -> None:
        """Let the next one in."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.busy = False


class Executor:
    """Runs a tenant's work for an event loop. waiting: requests that run or wait."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self._pool, self._limits = pool, limits
        self._share = pool.share()
        self.compute = Bucket(limits.tenant_seconds / _MINUTE, limits.tenant_seconds)
        self.waiting = 0

    @property
    def queued(self) -> int:
        """Requests that wait for a thread."""
        return len(self._share.waiting)

    def behind(self) -> bool:
        """Whether the threads, whosever work they do, are to get on before the event loop does."""
        return self._pool.behind()

    async def run(
        self,
        session: Session,
        work: Callable[[], T],
        small: Callable[[], T] | None = None,
        settle: Callable[[T], Coroutine[Any, Any, R]] | None = None,
        *,
        wake: bool = True,
        touch: bool = True,
    ) -> T | R:
        """Do the work when all that came before in this session is done.

        `small` is the same work for the event loop's own thread, where it is thought to be
        cheaper than a hop; if that turns out wrong it raises TooMuchHere, undone. `settle` gets
        what the work gave before anybody else's turn comes, and its result is given. A session
        that sleeps is read back first, but for `wake`; `touch` says whether its time to live
        begins anew.
        """
        lane = session.lane
        if lane is None:
            lane = session.lane = Lane()
        elif lane.busy and len(lane) >= self._limits.session_requests:
            raise self._crowded("the session", len(lane))
        self._enter()
        session.users += 1
        try:
            await lane.enter()
        except BaseException:
            self._left(session)
            raise
        if wake and session.asleep is not None:
            small, work = None, partial(_woken, session, work)
        if small is not None:
            here = True
            try:
                found = self._here(small)
                here = settle is None
                if settle is None:
                    return found
                return await self._in_turn(session, lane, settle(found))
            except TooMuchHere:
                here = False
            finally:
                if here:
                    self._done(session, lane)
        if settle is None and touch:
            return await self._in_thread(session, lane, work)
        return await self._in_turn(session, lane, self._settled(work, settle), touch=touch)

    async def _in_thread(self, session: Session, lane: Lane, work: Callable[[], T]) -> T:
        """The lane is free again when the thread is done, also if nobody waits for it any more."""
        future = self._submit(work)
        future.add_done_callback(lambda _: self._done(session, lane))
        return await asyncio.shield(future)

    async def _settled(
        self, work: Callable[[], T], settle: Callable[[T], Coroutine[Any, Any, R]] | None
    ) -> Any:
        found = await self._submit(work)
        return found if settle is None else await settle(found)

    async def _in_turn(
        self, session: Session, lane: Lane, rest: Coroutine[Any, Any, R], *, touch: bool = True
    ) -> R:
        """What is left of a turn that may have to wait; its end ends the turn, as in a thread."""

        def ended(task: asyncio.Task[R]) -> None:
            if not task.cancelled():
                task.exception()  # it was seen, also if nobody waits any more
            self._done(session, lane, touch=touch)

        task = asyncio.get_running_loop().create_task(rest)
        task.add_done_callback(ended)
        return await asyncio.shield(task)

    async def apart(self, work: Callable[[], T], small: Callable[[], T] | None = None) -> T:
        """The same for work that belongs to no session."""
        if small is not None:
            try:
                return self._here(small)
            except TooMuchHere:
                pass
        self._enter()
        future = self._submit(work)
        future.add_done_callback(lambda _: self._leave())
        return await asyncio.shield(future)

    def _here(self, small: Callable[[], T]) -> T:
        """Do it on the event loop, and note how long that took."""
        began = time.perf_counter()
        try:
            return small()
        finally:
            self._used(time.perf_counter() - began)

    def _submit(self, work: Callable[[], T]) -> asyncio.Future[T]:
        return self._pool.submit(self._share, work, self._used)

    def _used(self, seconds: float) -> None:
        self.compute.use(seconds)
        self._share.spent += seconds

    def _enter(self) -> None:
        if self.waiting >= self._limits.tenant_requests:
            raised = error(
                "rate_limited",
                f"{self.waiting} requests of yours run or wait, and the limit is "
                f"{self._limits.tenant_requests}",
                "wait for replies before you send more",
            )
            raised.retry_after = self._pool.patience(self.waiting)
            raise raised
        if self._pool.waiting >= self._limits.requests:
            raise self._crowded("the server", self._pool.waiting)
        self.waiting += 1
        self._pool.waiting += 1

    def _crowded(self, whom: str, waiting: int) -> GradwireError:
        raised = error(
            "overloaded", f"too many requests wait for {whom}", "send it again a little later"
        )
        raised.retry_after = self._pool.patience(waiting)
        return raised

    def _leave(self) -> None:
        self.waiting -= 1
        self._pool.waiting -= 1

    def _done(self, session: Session, lane: Lane, *, touch: bool = True) -> None:
        lane.leave()
        self._left(session, touch=touch)

    def _left(self, session: Session, *, touch: bool = True) -> None:
        session.users -= 1
        if touch:
            session.touch()
        self._leave()


def _woken(session: Session, work: Callable[[], T]) -> T:
    """In the session's turn: have it in memory, then do the work."""
    if session.asleep is not None:
        session.asleep()
    return work()
