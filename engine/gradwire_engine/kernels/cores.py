"""How many cores this process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """Those that it was given, where the system says so; else those of the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
