"""How what is recorded is sent: as one request, which stays under way until it is answered.

A request that is interrupted, or that nobody answers in time, stays under way: the next call asks
for it once more, by the same key, and the host does it once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from gradwire import origins
from gradwire.faults import meant
from gradwire.host_names import HostNames
from gradwire.new_names import NewNames
from gradwire.pending import Pending
from gradwire.transport import UNANSWERED, Request, Took, Transport, Values
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.journal import Journal
from gradwire_engine.locks import rlock
from gradwire_engine.mode import local
from gradwire_engine.tape import Node

if TYPE_CHECKING:
    from gradwire.later import Later
    from gradwire.tensor import Tensor

_FINAL = ("session_damaged", "session_closed", "session_expired", "session_not_found")
"""Errors after which nobody knows what the host holds, or it holds nothing."""


class _UnderWay(NamedTuple):
    """A request that has no answer yet, and what it is made of. end: of its part of the journal."""

    request: Request
    pending: Pending
    end: int


class Sending:
    """What waits to be sent to a session's host, and what is under way."""

    def __init__(self, transport: Transport, key: str, new_names: NewNames) -> None:
        self.transport, self.id = transport, key
        self._new_names = new_names
        self.journal = Journal()
        self.names = HostNames()
        """What Python has of the session, by its names at the host."""
        self._forgotten = self.names.forgotten
        self._lock: Any = rlock()
        self._pending = Pending()
        self._under_way: _UnderWay | None = None
        self._unusable: GradwireError | None = None
        self._later: Later | None = None
        self._wanted: list[Tensor] | None = None  # what the transaction under way reads at its end
        self._soon: list[ref[Tensor]] = []  # what the next request reads, asked for or not
        self._walks = 0  # under way: what they changed in the mirrors can still be undone
        self._anomaly = False  # what the host knows of anomaly mode
        # what nodes recorded in anomaly mode made, and at which line
        self._lines: WeakKeyDictionary[Node, tuple[str, str]] = WeakKeyDictionary()
        self._took: list[Took] | None = None  # what ops took, while somebody wants to know

    @property
    def waiting(self) -> int:
        """How many steps are recorded and not sent yet."""
        return len(self._pending)

    def _record_free(self) -> None:
        """Have the host free what Python forgot. A name is recorded before it is crossed out."""
        self.names.forget_gone()
        own = self._later.names if self._later is not None else frozenset()
        names, nbytes, count = self._forgotten.due(own)
        if not count:
            return
        if names:
            self._pending.add({"free": names}, None, len(self.journal.entries))
            self._pending.nbytes += nbytes
            self._pending.freed += names
        self._forgotten.settle(count, own)

    def _put_under_way(
        self, returns: Sequence[str] = (), *, data: bool = True, atomic: bool = False
    ) -> None:
        """Have what is recorded be under way, if there is anything to be done or read."""
        self._record_free()
        pending = self._pending
        if not pending.recorded and not returns:
            return
        request = Request(
            pending.steps, returns, pending.arrays, data=data, took=self._took, atomic=atomic
        )
        under_way, fresh = _UnderWay(request, pending, len(self.journal.entries)), Pending()
        self._under_way, self._pending = under_way, fresh

    def finish(self) -> Values:
        """Have the request under way answered, if there is one; what it reads.

        Interrupted, it stays under way. So it does where the host can't be reached or is too busy.
        """
        if self._under_way is None:
            return {}
        try:
            self._tell_anomaly()
            found = self._sent(self._under_way)
        except GradwireError as problem:
            users = meant(problem)
            if problem.code not in UNANSWERED:
                self._failed(problem)
            try:
                if users is problem:
                    raise
                raise users from None
            finally:
                del users  # which leads to this frame
        freed = self._under_way.pending.freed
        self._under_way = None  # no call may come between: an interrupt would undo what is done
        if freed:  # not given again before nothing here would free them once more
            self._forgotten.freed(freed)
            self._new_names.freed(freed, again=not local.state.anomaly)
        if not self._walks and not self._pending.recorded:
            self.journal.entries.clear()
        return found

    def settle(self) -> None:
        """Let go of how mirrors were, where nothing is recorded or under way that could fail."""
        with self._lock:
            if not self._walks and self.is_up_to_date:
                self.journal.entries.clear()

    @property
    def is_up_to_date(self) -> bool:
        """Whether the host has done all that is recorded."""
        waits = self._under_way is not None or self._pending.recorded
        return not waits and self._wanted is None and self._later is None

    def _sent(self, under_way: _UnderWay) -> Values:
        """Have the steps done; what somebody else freed need not be freed once more."""
        request, pending, end = under_way
        while True:
            try:
                return self.transport.steps(self.id, request)
            except GradwireError as problem:
                left = pending.without_freed(problem, atomic=request.atomic)
                if left is None:
                    raise
                request = Request(
                    left.steps, request.returns, left.arrays,
                    data=request.data, took=request.took, atomic=request.atomic,
                )  # fmt: skip
                pending = left
                self._under_way = _UnderWay(request, pending, end)

    @property
    def is_usable(self) -> bool:
        """Whether it hasn't ended, and is this process's."""
        return self._unusable is None

    @contextmanager
    def walking(self) -> Iterator[None]:
        """While a walk is under way in the mirrors; what is sent then comes before it."""
        with self._lock:
            self._walks += 1
            try:
                yield
            finally:
                self._walks -= 1

    def give_up(self, pending: Pending, problem: GradwireError, first: int = 0) -> None:
        """Steps from `first` on are never done."""
        with self._lock:
            unfreed, gone = pending.lose(problem, first)
            self._forgotten.never_made(gone)
            lost = pending.recorded[first:]
            self._forgotten.asked_for(name for _, _, _, made, _ in lost for name, _ in made)
            for name in unfreed:
                self._forgotten.add(name)

    def _tell_anomaly(self) -> None:
        """The host looks for NaN where the program does; what it looks at is sent at once."""
        state = local.state
        wanted = state.anomaly and state.check_nan
        if wanted is not self._anomaly:
            self.transport.change(self.id, {"detect_anomaly": wanted})
            self._anomaly = wanted
        if not state.anomaly and self._lines:
            self._lines.clear()

    def tell_of_nan(self, problem: GradwireError) -> None:
        """Have the error of a walk that met NaN name the line that made the node."""
        if problem.code == "nan_gradient":
            line = dict(self._lines.values()).get(problem.detail.rpartition("tensor ")[2])
            if line is not None:
                problem.add_note(f"that was recorded at {line}")

    def _failed(self, problem: GradwireError) -> None:
        """Bring mirrors back to where the host is; what came after the failed step is lost."""
        assert self._under_way is not None
        request, pending, _ = self._under_way
        origins.tell(problem)
        if problem.code in _FINAL:
            self._unusable = problem
        if problem.code == "tensor_not_found" and problem.step is not None:
            problem.add_note(f"another client of session {self.id} may have freed or renamed it")
        self.tell_of_nan(problem)
        first = pending.first_not_done(problem, atomic=request.atomic)
        left = [*pending.recorded[first:], *self._pending.recorded]
        if left:
            _, _, mark, *_ = left[0]
            self.journal.rollback(mark)
        self._pending, self._under_way = Pending(), None
        self.journal.entries.clear()
        self.give_up(Pending(left), problem)

    def _check_usable(self) -> None:
        if self._unusable is not None:
            raise error(self._unusable.code, self._unusable.detail, self._unusable.hint)


__all__ = ["Sending"]
