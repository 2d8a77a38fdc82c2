"""The time of changes and deletions: seconds since 1970 that never go back, whatever a clock does.

Which came first decides whether a log may still name a program that was deleted.
"""

from __future__ import annotations

import time

from gradwire_engine.locks import lock

_lock = lock()
_latest = 0.0


def now(least: float = 0.0) -> float:
    """The time; no less than any before, nor than `least`."""
    global _latest
    with _lock:
        _latest = max(_latest, least, time.time())
        return _latest
