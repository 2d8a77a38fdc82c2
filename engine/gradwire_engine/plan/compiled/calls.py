"""Runs of elementwise calls on arrays that stay where they are, each as one compiled call."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.mode import charge
from gradwire_engine.plan.buffers import Memory, Pool, TooLargeError
from gradwire_engine.plan.compiled.elementwise import elementwise
from gradwire_engine.plan.compiled.llvm import Unsupported, rest
from gradwire_engine.plan.compiled.native import Native
from gradwire_engine.plan.compiled.runs import Run
from gradwire_engine.plan.fixed import Call

LEAST, FUNCTIONS = 2, 16
"""Calls that are worth being one, and how many functions are compiled for a list of calls at most.
"""
_CODE = 1 << 17
"""Bytes of a function, about."""


class Joined(NamedTuple):
    """Calls, of which some are compiled. nbytes: of the functions, about."""

    calls: Sequence[Call]
    nbytes: int


def compiled_calls(calls: Sequence[Call], ends: Collection[int], memory: Memory) -> Joined:
    """The same calls, with runs of elementwise ones as one; as they are where llvmlite isn't there.

    ends: places at which a run ends. Calls that are done again and again, on other arrays each
    time, are the same functions where they are cut at the same places. memory: for what runs leave
    between their steps. The meter is asked now and then, as this takes long.
    """
    making = _Making()
    for place, call in enumerate(calls):
        if place in ends:
            making.end()
        making.add(call)
    making.end()
    rest()
    return making.joined(calls, memory)


class _Making:
    """Puts runs together, and has them compiled."""

    def __init__(self) -> None:
        self._found: list[tuple[Sequence[Call], Run | None, Native | None]] = []
        self._known: dict[Any, Native | None] = {}
        self._run: Run | None = None

    def add(self, call: Call) -> None:
        """One more call: of the run that was begun, or the first of another, or none's."""
        found = elementwise(call)
        if found is None:
            self.end()
            self._found.append(([call], None, None))
            return
        if self._run is None or not self._run.takes(found):
            self.end()
            self._run = Run(found.into.size)
        self._run.add(call, found)

    def end(self) -> None:
        """End the run that was begun."""
        run, self._run = self._run, None
        if run is not None:
            self._found.append((run.calls, run, self._native(run)))

    def _native(self, run: Run) -> Native | None:
        """A run as a function; None where it isn't worth it, or can't be."""
        if len(run.calls) < LEAST:
            return None
        key = run.key()
        if key not in self._known:
            if len(self._known) == FUNCTIONS:
                return None
            charge(0)
            self._known[key] = None
            # of a number that no float holds, the call says so
            with suppress(Unsupported, OverflowError):
                self._known[key] = Native(run.given())
        return self._known[key]

    def joined(self, calls: Sequence[Call], memory: Memory) -> Joined:
        """All calls; as they were where there is no room for what lies between steps."""
        natives = [native for native in self._known.values() if native is not None]
        if not natives:
            return Joined(calls, 0)
        try:
            size = max(native.nbytes for native in natives)
            scratch = Pool(memory).array((size,), np.dtype(np.uint8))
        except (TooLargeError, MemoryError):
            return Joined(calls, 0)
        made: list[Call] = []
        for plain, run, native in self._found:
            if run is None or native is None:
                made += plain
            else:
                arrays = [place.seen() for place in run.arrays()]
                made.append((native.ready([*arrays, scratch], 0, run.size), ()))
        return Joined(made, len(natives) * _CODE)
