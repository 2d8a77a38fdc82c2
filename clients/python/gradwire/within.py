"""Modes that the SDK sets around a user's Python, for a block.

An interrupt may come as `__exit__` begins; then nothing of it runs. Such a block ends as soon as
nothing holds it, or else, where a notebook keeps the exception with its frames, by the next call.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any
from weakref import ref

from gradwire.in_force import is_running
from gradwire.thread import threads
from gradwire_engine.mode import using


class within(using):
    """Set fields of this thread's state for a block, and put them back after it."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        self._own = ref(self)
        self.frame: FrameType | None = None

    def __enter__(self) -> None:
        self.frame = sys._getframe(1)
        threads.here.blocks.append(self._own)
        super().__enter__()

    def __exit__(self, *exc: object) -> None:
        if self._saved:  # else an interrupt came after that
            super().__exit__(*exc)
        self.frame = None
        if self._own in threads.here.blocks:
            threads.here.blocks.remove(self._own)


def end_stale_modes() -> None:
    """End blocks that an interrupt left open on this thread: nothing that runs now is in them."""
    blocks = threads.here.blocks
    while blocks:
        last = blocks[-1]()
        if last is not None and is_running(last.frame):
            return
        if last is None:
            blocks.pop()
        else:
            last.__exit__()


__all__ = ["end_stale_modes", "within"]
