"""Where work runs: one lane per session, in order of arrival; small work here, the rest in threads.

Requests to different sessions run side by side. Nothing but this module knows of threads.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gradwire_service.host.memory import TooMuchHere
from gradwire_service.host.sessions import Session

T = TypeVar("T")


class Lane:
    """One at a time, in order of arrival; entering a free lane takes no turn of the event loop."""

    __slots__ = ("_waiting", "busy")

    def __init__(self) -> None:
        self.busy = False
        self._waiting: deque[asyncio.Future[None]] = deque()

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
    """Runs work on sessions for an event loop."""

    def __init__(self, workers: int) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="gradwire")
        self.waiting = 0

    async def run(
        self,
        session: Session,
        work: Callable[[], T],
        small: Callable[[], T] | None = None,
    ) -> T:
        """Do the work when all that came before in this session is done.

        `small` is the same work for the event loop's own thread, where it is thought to be
        cheaper than a hop; if that turns out wrong it raises TooMuchHere, undone.
        """
        lane = session.lane
        if lane is None:
            lane = session.lane = Lane()
        session.users += 1
        self.waiting += 1
        try:
            await lane.enter()
        except BaseException:
            self._left(session)
            raise
        if small is not None:
            here = True
            try:
                return small()
            except TooMuchHere:
                here = False
            finally:
                if here:
                    self._done(session, lane)
        return await self._in_thread(session, lane, work)

    async def _in_thread(self, session: Session, lane: Lane, work: Callable[[], T]) -> T:
        """The lane is free again when the thread is done, also if nobody waits for it any more."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        future.add_done_callback(lambda _: self._done(session, lane))
        return await asyncio.shield(future)

    async def apart(self, work: Callable[[], T], small: Callable[[], T] | None = None) -> T:
        """The same for work that belongs to no session."""
        if small is not None:
            try:
                return small()
            except TooMuchHere:
                pass
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def _done(self, session: Session, lane: Lane) -> None:
        lane.leave()
        self._left(session)

    def _left(self, session: Session) -> None:
        session.users -= 1
        self.waiting -= 1
        session.touch()

    def close(self) -> None:
        """Wait for what runs, and end the threads."""
        self._pool.shutdown()
