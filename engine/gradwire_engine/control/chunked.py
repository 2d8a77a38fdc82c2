"""Chunks of steps, made once for a body and its arguments' specs, and lent to one run each."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from gradwire_engine.control.known import Known, planned
from gradwire_engine.plan.chunk import Chunk, chunk_of

WORTH = 64
"""Steps, all runs together, from which on chunks are made: that takes about as long."""
_KEPT = 2**25
"""Bytes of chunks that wait for their next run."""

_idle: OrderedDict[Any, Chunk] = OrderedDict()
_lock = threading.Lock()


def borrowed(found: Known, carries: int, slices: int, reverse: bool, keeps: bool) -> Chunk | None:
    """A chunk of a body's steps, if it is worth it and can be. keeps: whether every carry that
    goes into a step is asked for.
    """
    key = found, carries, slices, reverse, keeps
    with _lock:
        waiting = _idle.pop(key, None)
    if waiting is not None:
        return waiting
    plan = planned(found, 0) if found.runs >= WORTH else None
    if plan is None or key[1:] in found.whole:
        return None
    made = chunk_of(plan.code, carries, slices, reverse, keeps)
    if made is None:
        found.whole.add(key[1:])
    return made


def given_back(
    chunk: Chunk, found: Known, carries: int, slices: int, reverse: bool, keeps: bool
) -> None:
    """Have a chunk wait for its next run; those that were used longest ago make room."""
    with _lock:
        _idle[found, carries, slices, reverse, keeps] = chunk
        total = sum(waiting.nbytes for waiting in _idle.values())
        while total > _KEPT:
            total -= _idle.popitem(last=False)[1].nbytes
