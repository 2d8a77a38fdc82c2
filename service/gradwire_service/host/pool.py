"""The threads that compute, shared fairly: among those who wait, who used them least goes first.

One share alone may have all threads. Where more have ever had work, one thread is never given to
a share that has others already: who comes next finds it free, or gets the first that falls free.
Work that is short runs one to a core, and leaves one to the event loop: threads that take the
interpreter from each other get less done than one after the other. What turns out long has others
beside it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from gradwire_engine.errors import GradwireError
from gradwire_engine.kernels.cores import cores
from gradwire_service.host.frames import let_go

_SMOOTH = 16
"""Tasks over which the usual duration is taken, about."""
_BACK = 5
"""How much nicer the threads are than the event loop."""
_SHORT = 50e-3
"""Seconds after which work that runs isn't short any more."""
_PART = 0.5
"""What the threads are to have of the processor while work waits for them: of what the event loop's
thread takes."""
_OWED = 5e-3
"""Seconds of their part, missing or had too early, that are remembered at most."""


class Task(NamedTuple):
    """Work that waits for a thread, the future of its result, and who is told what it took."""

    work: Callable[[], Any]
    future: asyncio.Future[Any]
    used: Callable[[float], None]


class Share:
    """What one tenant has of the threads. spent: seconds it computed, never far behind others.

    used: whether it has ever had work for a thread.
    """

    __slots__ = ("running", "spent", "used", "waiting")

    def __init__(self) -> None:
        self.used = False
        self.waiting: deque[Task] = deque()
        self.running = 0
        self.spent = 0.0


def _step_back() -> None:
    """Where they share a core, the event loop goes first: it only hands on what others wait for.

    A thread of batch work doesn't take the core when it is woken, which the event loop does each
    time that it lets go of the interpreter for a system call.
    """
    if sys.platform == "linux":  # elsewhere threads have no priority of their own
        thread = threading.get_native_id()
        os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _BACK)


def _seen(future: asyncio.Future[Any]) -> None:
    """An error that nobody waits for any more is nothing to complain about."""
    if not future.cancelled():
        future.exception()


class Pool:
    """Threads for an event loop, and the shares of those who use them.

    waiting: requests that run or wait, of whatever share; for those who count them.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._threads = ThreadPoolExecutor(
            workers, thread_name_prefix="gradwire", initializer=_step_back
        )
        self._shares: list[Share] = []
        self._running = 0
        self._users = 0
        self.waiting = 0
        self._usual = 0.0
        self._since: dict[asyncio.Future[Any], float] = {}  # when what runs was begun
        self._at_once = max(1, cores() - 1)  # of short work: one core is the event loop's
        self._looks_again: asyncio.TimerHandle | None = None
        self._here = self._there = self._owed = 0.0  # seconds of the processor

    def share(self) -> Share:
        """A share for another tenant."""
        made = Share()
        self._shares.append(made)
        return made

    def behind(self) -> bool:
        """Whether work waits for the threads, and they had less than their part of the processor.

        For the event loop's thread, which may then rest, so that they get on.
        """
        here = time.thread_time()
        there = time.process_time() - here
        if any(share.waiting for share in self._shares):
            self._owed += _PART * (here - self._here) - (there - self._there)
            self._owed = min(max(self._owed, -_OWED), _OWED)
        else:
            self._owed = 0.0
        self._here, self._there = here, there
        return self._owed > 0

    def patience(self, waiting: int) -> float:
        """Seconds after which so many that wait now will be done, as far as can be known.

        What runs now takes as long as it has run, at least: others' work was perhaps shorter.
        """
        now = time.monotonic()
        ages = sorted(now - at for at in self._since.values())
        usual = max(self._usual, ages[(len(ages) - 1) // 2]) if ages else self._usual
        return waiting * usual / self.workers

    def submit(
        self, share: Share, work: Callable[[], Any], used: Callable[[float], None]
    ) -> asyncio.Future[Any]:
        """Do the work in a thread as soon as it is this share's turn."""
        if not share.used:
            share.used = True
            self._users += 1
        if not share.running and not share.waiting:
            others = [s.spent for s in self._shares if s.running or s.waiting]
            share.spent = max(share.spent, min(others, default=share.spent))
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.add_done_callback(_seen)
        share.waiting.append(Task(work, future, used))
        self._start()
        return future

    def _start(self) -> None:
        """Start what may start now."""
        while self._running < self.workers:
            ready = [s for s in self._shares if s.waiting and self._may_start(s)]
            if not ready:
                return
            share = min(ready, key=lambda s: (s.running, s.spent))
            task = share.waiting.popleft()
            if task.future.done():  # nobody waits for it any more
                continue
            share.running += 1
            self._running += 1
            self._since[task.future] = time.monotonic()
            self._threads.submit(self._do, share, task, asyncio.get_running_loop())

    def _may_start(self, share: Share) -> bool:
        if not share.running:
            return True
        short = time.monotonic() - _SHORT
        if sum(began > short for began in self._since.values()) >= self._at_once:
            self._look_again()
            return False
        return self._users == 1 or self._running < self.workers - 1

    def _look_again(self) -> None:
        """Start what may start when what runs now isn't short any more."""

        def start() -> None:
            self._looks_again = None
            self._start()

        if self._looks_again is None:
            self._looks_again = asyncio.get_running_loop().call_later(_SHORT, start)

    def _do(self, share: Share, task: Task, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread."""
        began, arrived = time.thread_time(), time.monotonic()
        result, raised = None, None
        try:
            result = task.work()
        except BaseException as problem:
            raised = problem
            if isinstance(problem, GradwireError) and problem.code != "internal":
                let_go(problem)  # which nobody prints
        took = time.thread_time() - began, time.monotonic() - arrived
        loop.call_soon_threadsafe(self._done, share, task, took, result, raised)

    def _done(
        self,
        share: Share,
        task: Task,
        took: tuple[float, float],
        result: Any,
        raised: BaseException | None,
    ) -> None:
        share.running -= 1
        self._running -= 1
        del self._since[task.future]
        seconds, wall = took
        task.used(seconds)
        self._usual += (wall - self._usual) / _SMOOTH
        if not task.future.done():
            if raised is None:
                task.future.set_result(result)
            else:
                task.future.set_exception(raised)
        self._start()

    def close(self) -> None:
        """Wait for what runs, and end the threads."""
        if self._looks_again is not None:
            self._looks_again.cancel()
        self._threads.shutdown()
