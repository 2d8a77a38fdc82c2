"""Python's cycle collector, paused while a request runs.

A graph has no reference cycles by design: whatever is dropped is freed at once. The collector would
walk all of a growing graph again and again and find nothing, which made a node of a 100,000-node
graph cost half as much again as a node of a small one.
"""

from __future__ import annotations

import gc
from threading import Lock

_lock = Lock()
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
