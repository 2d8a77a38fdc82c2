"""Chunks of steps, made once for a body and its arguments' specs, and lent to one run each."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from gradwire_engine.control.known import Known, planned
from gradwire_engine.locks import lock
from gradwire_engine.mode import charge
from gradwire_engine.plan.chunk import Chunk, chunk_of, longest
from gradwire_engine.plan.code import Code

WORTH = 128
"""Steps, all runs together, from which on chunks are made: that takes about as long."""
COMPILED = 1 << 12
"""Steps, all runs together, from which on a chunk's elementwise calls are compiled. That takes as
long as it saves in some 3,000 steps of an LSTM: 40 times as long as making the chunk."""
_KEPT = 2**25
"""Bytes of chunks that wait for their next run: arrays with nothing in them, and functions."""
_MANY = 128
"""Chunks that wait at most: each is some tenths of a MiB of Python's objects beside that."""

_idle: OrderedDict[Any, Chunk] = OrderedDict()
_lock = lock()


Way = tuple[int, int, bool, bool]
"""Carries and slices of a loop, whether it runs from the last row on, and whether every carry that
goes into a step is asked for."""


def borrowed(found: Known, way: Way, times: int) -> Chunk | None:
    """A chunk of a body's steps, if it is worth it and can be."""
    plan = planned(found, 0) if found.runs >= WORTH else None
    if plan is None:
        return None
    try:
        return _metered(found, plan.code, way, times)
    except MemoryError:  # the machine's, or the meter's: one step at a time takes less
        return None


def _metered(found: Known, code: Code, way: Way, times: int) -> Chunk | None:
    """A chunk whose bytes the meter was asked for, also where it waited."""
    if way not in found.longest:
        found.longest[way] = longest(code, *way)
    length = _length(found.longest[way], times)
    with _lock:
        waiting = _idle.pop((found, way, length), None)
    if waiting is not None:
        charge(waiting.nbytes)
    chunk = waiting or (chunk_of(code, *way, length) if length else None)
    if chunk is not None and found.runs >= COMPILED:
        chunk.compile()
    return chunk


def _length(most: int, times: int) -> int:
    """Steps of a chunk: such that no step is left over, if they need not be much fewer for that."""
    most = min(most, times)
    return next((n for n in range(most, most // 2, -1) if times % n == 0), most)


def given_back(chunk: Chunk, found: Known, way: Way) -> None:
    """Have a chunk wait for its next run; those that were used longest ago make room.

    Whoever lent it weights and rows may free them, and then they have to be gone.
    """
    chunk.wipe()
    with _lock:
        _idle[found, way, chunk.length] = chunk
        total = sum(waiting.nbytes for waiting in _idle.values())
        while total > _KEPT or len(_idle) > _MANY:
            total -= _idle.popitem(last=False)[1].nbytes
