"""Faults on demand, for tests of durability: GRADWIRE_FAULTS=point:what:chance,… ; else inert.

Points are "before-commit", "after-commit" (the change is in the log, nobody has its reply),
"file", "snapshot". What happens there is "kill" (SIGKILL to itself) or "full" (no space is left).
"""

from __future__ import annotations

import errno
import os
import signal
from random import SystemRandom

VARIABLE = "GRADWIRE_FAULTS"
_chance = SystemRandom().random


def _read(text: str) -> dict[str, list[tuple[str, float]]]:
    found: dict[str, list[tuple[str, float]]] = {}
    for part in filter(None, text.split(",")):
        point, what, chance = part.split(":")
        found.setdefault(point, []).append((what, float(chance)))
    return found


_faults = _read(os.environ.get(VARIABLE, ""))


def point(name: str) -> None:
    """Here something may go wrong, if a test asked for it."""
    for what, chance in _faults.get(name, ()):
        if _chance() >= chance:
            continue
        if what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
