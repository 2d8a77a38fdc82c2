"""`python -m tests.service.crash.faulty FILE serve …`: the server, with things that go wrong.

What goes wrong is what the file says at that moment: `point:what:chance,…`. At a point
(`gradwire_service.store.faults`) may happen "kill" (SIGKILL to itself), "full" (no space is left),
"odd" (an error that nobody expects there) or "slow" (a pause). Nothing of this is in the server:
this program puts it there.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
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


def _slow() -> None:
    time.sleep(PAUSE)


PAUSE = 0.5
HAPPENS: dict[str, Callable[[], None]] = {"kill": _kill, "full": _full, "odd": _odd, "slow": _slow}
Plan = list[tuple[str, Callable[[], None], float]]


def plan(text: str) -> Plan:
    """What may happen: at which point, what, how probably."""
    found = []
    for part in filter(None, text.split(",")):
        point, what, chance = part.split(":")
        if point not in faults.POINTS:
            raise ValueError(f"there is no point {point!r}")
        found.append((point, HAPPENS[what], float(chance)))
    return found


def install(file: Path) -> None:
    """Have happen in this process what the file says."""

    def happens(name: str) -> None:
        for point, what, chance in plan(file.read_text()):
            if point == name and _chance() < chance:
                what()

    faults.install(happens)


def main() -> None:
    """Run the server that the arguments after the file ask for."""
    install(Path(sys.argv.pop(1)))
    app()


if __name__ == "__main__":
    main()
