"""`python -m tests.service.crash.faulty FAULTS serve …`: the server, with things that go wrong.

FAULTS are `point:what:chance,…`. At a point (`gradwire_service.store.faults`) may happen "kill"
(SIGKILL to itself), "full" (no space is left) or "odd" (an error that nobody expects there).
Nothing of this is in the server: this program puts it there.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable
from random import SystemRandom

from gradwire_service.cli import app
from gradwire_service.store import faults

_chance = SystemRandom().random


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _odd() -> None:
    raise LookupError("nobody thought of this")


HAPPENS: dict[str, Callable[[], None]] = {"kill": _kill, "full": _full, "odd": _odd}


def install(text: str) -> None:
    """Have these faults happen in this process."""
    planned: dict[str, list[tuple[Callable[[], None], float]]] = {}
    for part in filter(None, text.split(",")):
        point, what, chance = part.split(":")
        if point not in faults.POINTS:
            raise ValueError(f"there is no point {point!r}")
        planned.setdefault(point, []).append((HAPPENS[what], float(chance)))

    def happens(name: str) -> None:
        for what, chance in planned.get(name, ()):
            if _chance() < chance:
                what()

    faults.install(happens)


if __name__ == "__main__":
    install(sys.argv.pop(1))
    app()
