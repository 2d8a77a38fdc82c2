"""Chunks of steps, made once for a body and its arguments' specs, and lent to one run each."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from gradwire_engine.control.known import Known, planned
from gradwire_engine.plan.chunk import Chunk, chunk_of, longest

WORTH = 128
"""Steps, all runs together, from which on chunks are made: that takes about as long."""
_KEPT = 2**25
"""Bytes of chunks that wait for their next run."""

_idle: OrderedDict[Any, Chunk] = OrderedDict()
_lock = threading.Lock()


Way = tuple[int, int, bool, bool]
"""Carries and slices of a loop, whether it runs from the last row on, and whether every carry that
goes into a step is asked for."""


def borrowed(found: Known, way: Way, times: int) -> Chunk | None:
    """A chunk of a body's steps, if it is worth it and can be."""
    plan = planned(found, 0) if found.runs >= WORTH else None
    if plan is None:
        return None
    if way not in found.longest:
        found.longest[way] = longest(plan.code, *way)
    length = _length(found.longest[way], times)
    with _lock:
        waiting = _idle.pop((found, way, length), None)
    return waiting or (chunk_of(plan.code, *way, length) if length else None)


def _length(most: int, times: int) -> int:
    """Steps of a chunk: such that no step is left over, if they need not be much fewer for that."""
    most = min(most, times)
    return next((n for n in range(most, most // 2, -1) if times % n == 0), most)


def given_back(chunk: Chunk, found: Known, way: Way) -> None:
    """Have a chunk wait for its next run; those that were used longest ago make room."""
    with _lock:
        _idle[found, way, chunk.length] = chunk
        total = sum(waiting.nbytes for waiting in _idle.values())
        while total > _KEPT:
            total -= _idle.popitem(last=False)[1].nbytes
