"""Python's cycle collector, paused while a request runs, and while modules are imported.

A graph has no reference cycles by design: whatever is dropped is freed at once. The collector would
walk all of a growing graph again and again and find nothing, which made a node of a 100,000-node
graph cost half as much again as a node of a small one.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from gradwire_engine.locks import lock

_lock = lock()
_pausing: set[int] = set()
"""The ids of those for whom it is paused."""
_state = {"was_on": False}
_OF_PYTHON = 1000
"""More objects than Python 3.12 and later have frozen when they start (375), and fewer than any
program has when its first line runs."""


def pause(owner: object) -> None:
    """No automatic collection until `resume`; the pauses of several owners may overlap.

    Interrupted, it may have begun or not: then `resume` has to be called as well.
    """
    with _lock:
        _pausing.add(id(owner))
        if gc.isenabled():
            _state["was_on"] = True
            gc.disable()


def resume(owner: object) -> None:
    """End an owner's pause, if it has one; interrupted, it may be called again."""
    with _lock:
        _pausing.discard(id(owner))
        if not _pausing and _state["was_on"]:
            gc.enable()
            _state["was_on"] = False


@contextmanager
def importing() -> Iterator[None]:
    """No collection while modules are imported; what they made is old then, and left alone.

    Else the first collection after them walks all of it once more. Frozen and thawed at once,
    objects are in the oldest generation; not where the program froze what it has, which would thaw
    too.
    """
    owner = object()
    try:
        pause(owner)
        yield
    finally:
        if gc.get_freeze_count() < _OF_PYTHON:
            gc.freeze()
            gc.unfreeze()
        resume(owner)
