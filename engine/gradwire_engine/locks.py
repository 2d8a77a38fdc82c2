"""Locks that are free in a forked child.

A child of `os.fork` has only the thread that forked. A lock that another thread held at that moment
would stay locked in the child for ever; each lock made here is made anew there, unless the thread
that forked holds it itself.
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

_known: WeakSet[Any] = WeakSet()


def lock() -> threading.Lock:
    """A lock."""
    made = threading.Lock()
    _known.add(made)
    return made


def rlock() -> Any:
    """A lock that its holder may take again."""
    made = threading.RLock()
    _known.add(made)
    return made


def depth(lock: Any) -> int:
    """How often this thread holds a lock that it may take again."""
    count = getattr(lock, "_recursion_count", None)  # not in the first releases of Python 3.11
    found: int = lock._is_owned() if count is None else count()
    return found


def _renew() -> None:
    for one in list(_known):
        owned = getattr(one, "_is_owned", None)
        if owned is None or not owned():
            one._at_fork_reinit()  # as the standard library's own locks do


if hasattr(os, "register_at_fork"):  # not where there is no fork
    os.register_at_fork(after_in_child=_renew)
