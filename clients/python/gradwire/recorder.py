"""Calls are recorded and sent together, in order.

Each recorded step keeps the line of the user's program that made it, so that an error which only
the elements reveal names that line. Steps travel with `"atomic": false`: what came before a failed
step is kept, as a program that raised would leave it; what came after is undone in the mirrors too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, ref

import numpy as np

from gradwire import defaults, forks, origins
from gradwire.host_names import HostName, Kind
from gradwire.known_walks import KnownWalks
from gradwire.later import Later, looks_at_values
from gradwire.new_names import NewNames
from gradwire.pending import (
    Pending,
    Recording,
    end_stale_recordings,
    line_of,
    users_line,
    users_place,
)
from gradwire.sending import Sending
from gradwire.transaction import Transaction
from gradwire.transport import Arrays, Step, Transport, Values
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.journal import assign, drop
from gradwire_engine.mode import local
from gradwire_engine.spec import DType, Spec

if TYPE_CHECKING:
    from gradwire.held import Held
    from gradwire.tensor import Tensor

MAX_STEPS = 1000
"""Steps recorded before they are sent by themselves."""
_SMALL = 2**14
"""Bytes at most of gradients that are read with another one without being asked for."""
_FEW = 16
"""Losses at most that are read with a request without being asked for."""
MAX_BYTES = 64 * 2**20
"""Bytes of arrays and results recorded, and of tensors let go, before all is sent by itself."""


class Recorder(Sending):
    """What is recorded for a session that a host has.

    dtype: the session's default. first: the number of the first name that is free. prefix: what
    stands before the numbers in names.
    """

    runs_here = False
    """Whether its tensors hold the engine's, with elements, and nothing is recorded."""
    takes_calls = False
    """Whether an op on its tensors may be done at once, with nothing to be undone."""
    runs_on = "meta"
    """The device of what its tensors hold."""
    generator: Any = None
    """What they draw from: the random numbers of mirrors are nobody's."""
    meter: Any = None
    """What counts the bytes of one that is here, where it has a memory limit."""
    if TYPE_CHECKING:  # what only sessions have that are here

        def through(self) -> None: ...
        def elements(self, tensor: Tensor) -> np.ndarray: ...
        def note_line(self, made: Sequence[Tensor | None]) -> None: ...

    looks_at_gradients = False
    """Whether a gradient was looked at since the last message."""
    in_backward = False
    """Whether a custom function's backward is written down, as in a trace."""
    holds: Held | None = None
    """What the host had when the session was attached to, or refreshed."""

    def __init__(
        self, transport: Transport, key: str, dtype: DType, first: int = 1, prefix: str = "t"
    ) -> None:
        super().__init__(transport, key, NewNames(prefix, first))
        self.hooked: WeakSet[Any] = WeakSet()
        """Hooks that Python registered."""
        self.known_walks = KnownWalks()
        self._dtype = dtype
        self._transaction: ref[Transaction] | None = None
        forks.sessions.add(self)

    def lifted(self, value: Any) -> Any:
        """An argument as it is here, which is as it is; within a trace it is another one."""
        return value

    # forked children

    left = False
    """Whether it is a parent's, which this process was forked from."""

    def leave_to(self, parent: int) -> None:
        """In a forked child: the session stays the parent's, and this process sends nothing."""
        self.left = True
        self._unusable = error(
            "forked_process",
            f"session {self.id} on {getattr(self.transport, 'url', 'its host')} belongs to process "
            f"{parent}, which this process, {os.getpid()}, was forked from",
            "make a session of this process by gradwire.connect(url).session(), and hand over "
            "values as arrays, x.numpy(), before the fork; or start the process by spawn",
        )

    def check_tensor(self, name: str) -> None:
        """Refuse a tensor by its name where its session is left to a parent."""
        if self.left:
            assert self._unusable is not None
            raise error(
                self._unusable.code, f"tensor {name!r}: {self._unusable.detail}",
                self._unusable.hint,
            )  # fmt: skip

    # recording

    def new_name(self) -> str:
        """A name that no other tensor of the session has."""
        name = self._new_names.new(again=not local.state.anomaly)  # lines are kept by name there
        if self._later is not None:
            self._later.names.add(name)
            self._forgotten.put_aside(name)
        return name

    def give_name(
        self,
        thing: Any,
        spec: Spec | None = None,
        name: str | None = None,
        params: Sequence[HostName] | None = None,
    ) -> HostName:
        """A name for a tensor or an optimizer, a new one if none is given.

        params: the names of an optimizer's parameters.
        """
        return self.names.give(thing, name or self.new_name(), spec, params)

    def forget(self, name: str) -> None:
        """Have the host free what Python forgot and it has under a name; takes no lock."""
        self._forgotten.add(name)

    def free(self, names: Sequence[str]) -> None:
        """Have the host free what the program wants freed: a block that is undone frees nothing."""
        if names:
            with self.recording() as mark:
                for name in names:
                    self.no_longer_holds(name)
                self.record({"free": list(names)}, mark=mark)

    def check_hooks(self) -> None:
        """Refuse to exchange the mirrors while hooks hang in them."""
        called = sorted({hook.id for hook in self.hooked})
        if called:
            raise error(
                "invalid_argument",
                f"refresh: hooks are registered in session {self.id}: {', '.join(called)}",
                "remove() them before, and register them anew",
            )

    def rename(self, pairs: Sequence[tuple[Tensor, str]], kind: Kind) -> None:
        """Call tensors otherwise at the host, where they are of this kind from then on."""
        if not pairs:
            return
        with self.recording() as mark:
            self.names.forget_gone()
            self._record_free()  # names that are free again may be among the new ones
            self.free(self.names.take_left({name for _, name in pairs}))
            step = {"rename": {tensor._name: name for tensor, name in pairs}}
            self._new_names.taken([name for _, name in pairs])
            for tensor, name in pairs:
                self.no_longer_holds(tensor._name)
                self.no_longer_holds(name)
                assign(tensor._host_name, "text", name)
                assign(tensor._host_name, "kind", kind)
            self.record(step, mark=mark)

    def no_longer_holds(self, name: str) -> None:
        """The host has nothing under a name any more, or something else."""
        if self.holds is not None:
            drop(self.holds.metas, name)

    def recording(self, about: Any = None) -> Recording:
        """A block that changes mirrors and records one step: undone together if it raises.

        about: the tensor or optimizer that it is about, for errors.
        """
        if self.left:
            self.check_tensor("" if about is None else about._name)
        return Recording(self)

    def _prepare(self) -> None:
        """Before anything is recorded: a session that works, in the program's default dtype.

        The default dtype is the program's: the session's changes when the program changes it.
        """
        self._check_usable()
        wanted = defaults.dtype()
        if wanted is not self._dtype:
            if self._wanted is not None:
                raise error(
                    "invalid_argument",
                    "set_default_dtype: it was called within a transaction",
                    "call it before the transaction begins",
                )
            self.flush()
            self.transport.change(self.id, {"dtype": wanted.name})
            self._dtype = wanted

    def _undo(self, mark: int, pending: Pending, first: int) -> None:
        """Undo a block that raised: what it changed in the mirrors, and the steps it recorded.

        pending, first: where its first step was to be recorded. What is under way stays.
        """
        if pending is not self._pending:
            first = 0  # sent in the block: all that waits now was recorded in it
        if len(self._pending.recorded) > first:
            self._take_back(first)
        self.journal.rollback(mark if self._under_way is None else max(mark, self._under_way.end))

    def _take_back(self, first: int) -> None:
        """Steps from `first` on are not recorded after all."""
        pending = self._pending
        self.give_up(pending, _taken_back(), first)
        del pending.recorded[first:]

    def record(
        self,
        step: Step,
        made: Sequence[Tensor | None] = (),
        arrays: dict[str, np.ndarray] | None = None,
        *,
        mark: int | None = None,
        grad_mode: str | None = None,
    ) -> None:
        """Add a step to what is sent next, in the grad mode that is in force.

        made: the tensors that it makes. mark: how long the journal was before the step.
        """
        state = local.state
        mode = grad_mode or self.grad_mode
        if mode is not None:
            step["grad_mode"] = mode
        with self._lock:
            if self.names.gone:
                self.names.forget_gone()
            if self._forgotten.many:
                self._record_free()
            pending = self._pending
            at = len(self.journal.entries) if mark is None else mark
            place = users_place()
            if state.anomaly:
                self._note_line(line_of(place), made)
            pending.add(step, place, at, made, arrays)
            if step.get("op", "_")[-1] == "_":  # all but ops that write nothing
                self.known_walks.note_step()
            if len(pending.recorded) >= MAX_STEPS or pending.nbytes >= MAX_BYTES:
                self.flush()

    def _note_line(self, line: str, made: Sequence[Tensor | None]) -> None:
        """Keep the line that made these tensors as long as the nodes that made them."""
        for tensor in made:
            node = None if tensor is None else tensor._meta.grad_fn
            if tensor is not None and node is not None:
                self._lines[node] = tensor._name, line

    @property
    def grad_mode(self) -> str | None:
        """The grad mode that is in force, as steps have it; None with gradients."""
        state = local.state
        return "inference_mode" if state.inference else None if state.grad else "no_grad"

    @property
    def puts_off(self) -> bool:
        """Whether what is recorded now is kept aside."""
        return self._later is not None

    # sending

    def flush(self, returns: Sequence[str] = (), *, data: bool = True) -> Values:
        """Send what is recorded and read tensors back; errors are raised as torch would.

        What was interrupted before is finished first. data: whether the elements of what is read
        are wanted.
        """
        with self._lock:
            self._check_usable()
            if self._later is not None:
                return self._later.look(returns)
            self.end_stale()
            if self._wanted is not None:
                return nothing_yet(returns)
            self.finish()
            soon = self._take_soon() if data else {}
            gradients = self._gradients_beside() if data and self.looks_at_gradients else {}
            more = [name for name in (*soon, *gradients) if name not in returns]
            self._put_under_way([*returns, *more], data=data)
            found = self._read(returns) if more else self.finish()
            for name, tensor in soon.items():
                tensor._keep(found.get(name))
            for name, tensor in gradients.items():
                tensor._keep_gradient(found.get(name))
            return found

    def _read(self, returns: Sequence[str]) -> Values:
        """What a request reads; these alone where it can't read what nobody asked for.

        Another client may have freed that.
        """
        under_way = self._under_way
        count = len(under_way.request.steps) if under_way is not None else 0
        try:
            return self.finish()
        except GradwireError as problem:
            if problem.code != "tensor_not_found" or problem.step != count:
                raise
        self._put_under_way(returns)
        return self.finish()

    def transaction(self) -> Transaction:
        """All that is recorded in this block is one request, sent at its end: all or nothing.

        Whatever ends it, an exception, Ctrl-C or the end of the process, leaves the session as it
        was before the block or as it is after it. No value is looked at in it; that of a loss which
        `backward` was called on is there afterwards. A transaction within another is part of it:
        if it raises, its own part is undone.
        """
        return Transaction(self)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is under way."""
        return self._wanted is not None

    def innermost_transaction(self) -> Transaction | None:
        """The transaction under way."""
        return None if self._transaction is None else self._transaction()

    def begin_transaction(self, begun: Transaction) -> None:
        """Make what is recorded until its end a part of a transaction."""
        self._transaction, self._wanted = ref(begun), begun.wanted

    def end_transaction(self, outer: Transaction | None) -> None:
        """End the innermost transaction; the one around it goes on, if there is one."""
        self._transaction = None if outer is None else ref(outer)
        self._wanted = None if outer is None else outer.wanted

    def end_stale(self) -> None:
        """End blocks that an interrupt left open, as it came before their end could begin.

        Such a block is no part of what runs now.
        """
        end_stale_recordings()
        found = self.innermost_transaction()
        while found is not None and found.is_stale:
            found.__exit__(KeyboardInterrupt)
            found = self.innermost_transaction()

    def commit(self, transaction: Transaction) -> None:
        """End a transaction, send it, and keep what it reads."""
        known = {t._name: t for t in transaction.wanted if t._name}
        if self._unusable is None:
            self._put_under_way(list(known), atomic=True)
        transaction.end()  # by now what it recorded is one request: interrupts change nothing
        self._check_usable()
        found = self.finish()
        for name, tensor in known.items():
            tensor._keep(found.get(name))

    def read_later(self, tensors: Iterable[Tensor]) -> bool:
        """Have a transaction read these at its end; whether one is under way."""
        if self._wanted is None:
            return False
        self._wanted += tensors
        return True

    def read_soon(self, tensors: Iterable[Tensor]) -> None:
        """Have the next request that is sent read these too: they are mostly looked at next."""
        if not self.read_later(tensors):
            self._soon += [ref(tensor) for tensor in tensors]
            del self._soon[:-_FEW]

    def _take_soon(self) -> dict[str, Tensor]:
        """What is to be read with the next request, by name, as far as Python still has it."""
        soon, self._soon = self._soon, []
        found = [tensor for one in soon if (tensor := one()) is not None and tensor._name]
        return {tensor._name: tensor for tensor in found if tensor._known() is None}

    def _gradients_beside(self) -> dict[str, Tensor]:
        """The tensors with small gradients that nobody has looked at, by the gradients' names.

        Whoever looks at one gradient mostly looks at the others next.
        """
        self.looks_at_gradients, left = False, _SMALL
        found: dict[str, Tensor] = {}
        for name, tensor in self.names.tensors().items():
            meta = tensor._meta.grad
            known = tensor._grad is not None and tensor._grad._meta is meta
            if meta is not None and not known and meta.spec.nbytes <= left:
                left -= meta.spec.nbytes
                found[f"{name}.grad"] = tensor
        return found

    def send_walk(self) -> None:
        """After an optimizer's step: send what is recorded, where a walk's loss is read with it."""
        if self._soon and self._later is None:
            self.flush()

    @contextmanager
    def putting_off(self, later: Later) -> Iterator[None]:
        """What is recorded in this block is kept aside, and looked at by `later`."""
        with self._lock:
            later.around, outer = self._pending, self._later
            self._pending, self._later = later.pending, later
            try:
                yield
            finally:
                self._pending, self._later = later.around, outer

    def take_up(self, later: Later) -> None:
        """Record what was kept aside."""
        with self._lock:
            self._pending.extend(later.pending, len(self.journal.entries))
            self.asked_for(later.names)

    def asked_for(self, names: Iterable[str]) -> None:
        """What makes these names is recorded now, though it may be kept aside by others."""
        if self._later is not None:
            self._later.names.update(names)
        else:
            self._forgotten.asked_for(names)

    def put_aside(self, names: Iterable[str]) -> None:
        """The host is not asked for these names yet."""
        for name in names:
            self._forgotten.put_aside(name)

    def abandon(self, later: Later, problem: GradwireError) -> None:
        """What was kept aside is never done."""
        with self._lock:
            self._forgotten.asked_for(later.names)
            self.give_up(later.pending, problem)

    def imagined(
        self, steps: Sequence[Step], arrays: Arrays, returns: Sequence[str], called: str
    ) -> Values:
        """What tensors would be after further steps, tried on a copy; what `called` looks at.

        The host may have no room for a copy; then looking is refused.
        """
        with self._lock:
            if self._wanted is not None:
                raise looks_at_values(called)
            later, own = self._later, self._pending
            if later is not None:
                self._pending, self._later = later.around, None
            try:
                self.flush()
                return self.transport.imagine(self.id, steps, arrays, returns)
            except GradwireError as problem:
                raise looks_at_values(called) from problem
            finally:
                if later is not None:
                    later.around, self._pending, self._later = self._pending, own, later

    def foreseen(self, steps: Sequence[Step], arrays: Arrays) -> GradwireError | None:
        """What further steps raise, tried on a copy; None also where no copy can be made."""
        with self._lock:
            if self._later is not None or self._wanted is not None:
                return None
            self.flush()
            self._tell_anomaly()
            try:
                self.transport.imagine(self.id, steps, arrays, ())
            except GradwireError as problem:
                origins.tell(problem)
                if problem.step is None:
                    return None
                problem.__cause__ = problem.__context__ = None
                return problem.with_traceback(None)  # which leads to whoever keeps it
            return None


def _taken_back() -> GradwireError:
    return error(
        "tensor_not_found",
        "the block that recorded it raised, and was undone",
        "make it again",
        raised=RuntimeError,
    )


def nothing_yet(returns: Sequence[str]) -> Values:
    """What is sent within a transaction; it is an error to read anything there."""
    if not returns:
        return {}
    raise error(
        "invalid_argument",
        f"the value of a tensor is looked at within a transaction, at {users_line()}; all of it is "
        "one request, which is sent at its end",
        "look at the value after the block, or before it",
    )


__all__ = ["MAX_BYTES", "MAX_STEPS", "Recorder", "nothing_yet"]
