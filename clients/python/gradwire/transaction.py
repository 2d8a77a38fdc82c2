"""All that a block records as one request: done whole at its end, or not at all."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradwire.recorder import Recorder
    from gradwire.tensor import Tensor


class Transaction:
    """A block of `session.transaction()`. wanted: tensors that are read with its request.

    frame: where the block stands, by which one is known that was left without `__exit__`: an
    interrupt may come before that begins.
    """

    def __init__(self, session: Recorder) -> None:
        self._session = session
        self.outer: Transaction | None = None
        self.wanted: list[Tensor] = []
        self.frame: FrameType | None = None

    def __enter__(self) -> None:
        session = self._session
        with session._lock:
            session.end_stale()
            outer = session.innermost_transaction()
            if outer is None:
                session.flush()
            self.outer, self.wanted = outer, [] if outer is None else outer.wanted
            self._pending, self._mark = session._pending, len(session.journal.entries)
            self._first = len(self._pending.recorded)
            self.frame = sys._getframe(1)
            session.begin_transaction(self)

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        if self.frame is None:  # ended by another call already
            return
        session = self._session
        with session._lock:
            if kind is not None:
                session._undo(self._mark, self._pending, self._first)
            session.end_transaction(self.outer)
            self.frame = None
            if kind is None and self.outer is None:
                session.commit(self.wanted)

    def __del__(self) -> None:
        if getattr(self, "frame", None) is not None:
            self.__exit__(KeyboardInterrupt)


__all__ = ["Transaction"]
