"""Work on many seeds in processes of its own: what kills one of them ends neither the others nor
the run, and is told with what was at work last.
"""

from __future__ import annotations

import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

Result = TypeVar("Result")
Saying = Callable[[str, str], None]
"""Says, before each piece of work, whose it is and what: "torch", "step 7, mul_"."""
Work = Callable[..., Result]
"""What is done for a seed, its first argument; its argument at is a Saying."""

_FRESH = get_context("spawn")
"""Nothing of a process that starts others, which has threads and connections, is theirs too."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Work on a seed that has no result: how it ended, and what it said last that it was at.

    died: whether its process did; else it raised an error that nobody caught.
    """

    seed: int
    died: bool
    how: str
    whose: str = ""
    what: str = ""


def nowhere(whose: str, what: str) -> None:
    """Says nothing."""


def each(work: Work[Result], seeds: deque[int], processes: int) -> Iterator[Result | Lost]:
    """What work makes of each seed, as soon as it is made; seeds may be added meanwhile.

    An error that nobody caught loses a seed as well; its traceback is told.
    """
    crew = [_Worker(work) for _ in range(processes)]
    try:
        while True:
            for worker in crew:
                if worker.idle and seeds:
                    worker.begin(seeds.popleft())
            busy = {worker.connection: worker for worker in crew if not worker.idle}
            if not busy:
                return
            for ready in wait([*busy]):
                worker = busy[ready]  # type: ignore[index]
                for result in worker.heard():
                    if worker.dead:
                        crew[crew.index(worker)] = _Worker(work)
                    yield result
    finally:
        for worker in crew:
            worker.end()


class _Worker(Generic[Result]):
    """A process, and the seed that it works on."""

    def __init__(self, work: Work[Result]) -> None:
        self.connection, there = _FRESH.Pipe()
        self._process = _FRESH.Process(target=_serve, args=(work, there), daemon=True)
        self._process.start()
        there.close()
        self._seed: int | None = None
        self._last = "", ""
        self.dead = False

    @property
    def idle(self) -> bool:
        """Whether it waits for a seed."""
        return self._seed is None

    def begin(self, seed: int) -> None:
        """Give it a seed to work on."""
        self._seed, self._last = seed, ("", "")
        with suppress(OSError):  # it is dead already, as is seen where its word is waited for
            self.connection.send(seed)

    def heard(self) -> Iterator[Result | Lost]:
        """Take its next word: a result, if it is one or if there will be none."""
        seed = self._seed
        assert seed is not None
        try:
            kind, said = self.connection.recv()
        except (EOFError, OSError):
            self.dead, self._seed = True, None
            self._process.join()
            yield Lost(seed, True, _ended(self._process.exitcode), *self._last)
            return
        if kind == "at":
            self._last = said
            return
        self._seed = None
        yield said if kind == "made" else Lost(seed, False, said, *self._last)

    def end(self) -> None:
        """Let it go, whatever it is at."""
        self._process.terminate()
        self._process.join()
        self.connection.close()


def _serve(work: Work[Result], connection: Connection) -> None:
    """The process: a seed in, what it is at and what it made of it out."""

    def at(whose: str, what: str) -> None:
        connection.send(("at", (whose, what)))

    while True:
        try:
            seed = connection.recv()
        except EOFError:  # nobody is there any more
            return
        try:
            said = "made", work(seed, at=at)
        except Exception:
            said = "failed", traceback.format_exc()  # type: ignore[assignment]
        connection.send(said)


def _ended(code: int | None) -> str:
    """How a process ended, by its exit code."""
    if code is None or code >= 0:
        return f"its process ended with {code}"
    return f"its process was ended by {signal.Signals(-code).name}"


__all__ = ["Lost", "Saying", "Work", "each", "nowhere"]
