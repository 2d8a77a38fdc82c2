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
_state = {"pauses": 0, "was_on": False}


def pause() -> None:
    """No automatic collection until `resume`; those of several threads may overlap."""
    with _lock:
        if not _state["pauses"]:
            _state["was_on"] = gc.isenabled()
            gc.disable()
        _state["pauses"] += 1


def resume() -> None:
    """Undo one `pause`."""
    with _lock:
        _state["pauses"] -= 1
        if not _state["pauses"] and _state["was_on"]:
            gc.enable()


@contextmanager
def importing() -> Iterator[None]:
    """No collection while modules are imported; what they made is old then, and left alone.

    Else the first collection after them walks all of it once more. Frozen and thawed at once,
    objects are in the oldest generation; not where the program froze some, which would thaw too.
    """
    pause()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        resume()
