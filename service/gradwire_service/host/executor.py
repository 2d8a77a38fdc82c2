"""Where work runs: one lane per session, in order of arrival; small work here, the rest in threads.

Requests to different sessions run side by side. Nothing but this module knows of threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from weakref import WeakKeyDictionary

from gradwire_service.host.memory import TooMuchHere
from gradwire_service.host.sessions import Session

T = TypeVar("T")


class Executor:
    """Runs work on sessions for an event loop."""

    def __init__(self, workers: int) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="gradwire")
        self._lanes: WeakKeyDictionary[Session, asyncio.Lock] = WeakKeyDictionary()
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
        lane = self._lanes.get(session)
        if lane is None:
            lane = self._lanes[session] = asyncio.Lock()
        session.users += 1
        self.waiting += 1
        try:
            await lane.acquire()
        except BaseException:
            self._leave(session)
            raise
        if small is not None:
            try:
                result = small()
            except TooMuchHere:
                pass
            except BaseException:
                self._release(session, lane)
                raise
            else:
                self._release(session, lane)
                return result
        return await self._in_thread(session, lane, work)

    async def _in_thread(self, session: Session, lane: asyncio.Lock, work: Callable[[], T]) -> T:
        """The lane is free again when the thread is done, also if nobody waits for it any more."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        future.add_done_callback(lambda _: self._release(session, lane))
        return await asyncio.shield(future)

    async def apart(self, work: Callable[[], T], small: Callable[[], T] | None = None) -> T:
        """The same for work that belongs to no session."""
        if small is not None:
            try:
                return small()
            except TooMuchHere:
                pass
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def _release(self, session: Session, lane: asyncio.Lock) -> None:
        lane.release()
        self._leave(session)

    def _leave(self, session: Session) -> None:
        session.users -= 1
        self.waiting -= 1
        session.touch()

    def close(self) -> None:
        """Wait for what runs, and end the threads."""
        self._pool.shutdown()
