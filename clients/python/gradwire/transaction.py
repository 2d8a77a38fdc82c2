"""All that a block records as one request: done whole at its end, or not at all."""

from __future__ import annotations

import sys
from dis import opname
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from threading import get_ident
from types import FrameType
from typing import TYPE_CHECKING, Any

from gradwire.in_force import is_running
from gradwire_engine.errors import error

if TYPE_CHECKING:
    from gradwire.recorder import Recorder
    from gradwire.tensor import Tensor

_SUSPENDS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_ENTERING = frozenset({"__enter__", "__aenter__"})


class Transaction:
    """A block of `session.transaction()`. wanted: tensors that are read with its request."""

    def __init__(self, session: Recorder) -> None:
        self._session = session
        self.outer: Transaction | None = None
        self.wanted: list[Tensor] = []
        self._frame: FrameType | None = None  # where the block stands, until it ended
        self._thread = 0

    def __enter__(self) -> None:
        session = self._session
        with session._lock:
            session.end_stale()
            outer = session.innermost_transaction()
            if outer is None:
                session.flush()
                session._prepare()
            self.outer, self.wanted = outer, [] if outer is None else outer.wanted
            self._pending, self._mark = session._pending, len(session.journal.entries)
            self._first = len(self._pending.recorded)
            self.__class__ = _OpenTransaction
            self._frame, self._thread = _frame_of_block(), get_ident()
            session.begin_transaction(self)

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        session = self._session
        with session._lock:
            if self._frame is None:
                if kind is None:
                    raise _undone(session)
            elif kind is None and self.outer is None:
                session.commit(self)
            else:
                if kind is not None:
                    session._undo(self._mark, self._pending, self._first)
                self.end()

    def end(self) -> None:
        """End the transaction: what is recorded afterwards is no part of it.

        Other threads or tasks may have begun some in it that are still under way. These are parts
        of the one around it from then on; where there is none they end with it.
        """
        session, inner = self._session, self._still_inside()
        if inner and self.outer is not None:
            inner[-1].outer = self.outer
        else:
            for one in inner:
                one._frame, one.__class__ = None, Transaction
            session.end_transaction(self.outer)
        self._frame, self.__class__ = None, Transaction  # no call before it: one may be interrupted

    def _still_inside(self) -> list[Transaction]:
        """The transactions under way that began in this one, the innermost first."""
        found: list[Transaction] = []
        inner = self._session.innermost_transaction()
        while inner is not None and inner is not self:
            found.append(inner)
            inner = inner.outer
        return found

    @property
    def is_stale(self) -> bool:
        """Whether the block was left without `__exit__`: an interrupt may come before that begins.

        Only its own thread can tell, and not where it stands in what may go on later.
        """
        frame = self._frame
        if frame is None or self._thread != get_ident() or is_running(frame):
            return False
        return not _is_suspended(frame)


class _OpenTransaction(Transaction):
    """A transaction while its block is open; as the block ends, the class becomes `Transaction`.

    Only this class has `__del__`, since Python swallows an interrupt that comes in one.
    """

    def __del__(self) -> None:
        if self._frame is not None:
            self.__exit__(KeyboardInterrupt)


def _frame_of_block() -> FrameType | None:
    """Where the `with` stands, by whatever helps to enter it."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and (
        frame.f_globals.get("__name__") == "contextlib" or frame.f_code.co_name in _ENTERING
    ):
        frame = frame.f_back
    return frame


def _is_suspended(frame: FrameType) -> bool:
    """Whether a generator or coroutine waits at a yield or await, and may go on."""
    code = frame.f_code
    if not code.co_flags & _SUSPENDS or frame.f_lasti < 0:
        return False
    return opname[code.co_code[frame.f_lasti]] in ("YIELD_VALUE", "RESUME", "SEND")


def _undone(session: Recorder) -> Exception:
    return error(
        "invalid_argument",
        f"a transaction of session {session.id} was ended before its block: the function that "
        "began it had returned, and it was undone; or another thread or task ended the one around "
        "it",
        "enter and leave it in one function, by `with`, and one after the other",
        raised=RuntimeError,
    )


__all__ = ["Transaction"]
