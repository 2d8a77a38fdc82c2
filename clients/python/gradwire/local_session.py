"""A session of this process whose tensors are the engine's: an op runs where it is called.

Nothing is recorded and nothing is sent. What a user's function is written down for (transforms,
compiled functions, control flow) is done by the process's host on the same tensors, which it has by
name for as long as that takes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from gradwire import forks, origins
from gradwire.defaults import DEFAULT
from gradwire.faults import meant
from gradwire.held import Held
from gradwire.host_names import HostName, HostNames, Kind
from gradwire.later import looks_at_values
from gradwire.pending import end_stale_recordings, is_open, texts_in, users_line
from gradwire.recorder import nothing_yet
from gradwire.session import Session
from gradwire.tensor import Tensor, held_tensor
from gradwire.thread import quietly, threads, timed
from gradwire.transport import Received, Request, Step, Transport, Values
from gradwire_engine.control import called, called_purely
from gradwire_engine.errors import GradwireError
from gradwire_engine.journal import assign, drop, put
from gradwire_engine.layout import in_rows
from gradwire_engine.mode import local, using
from gradwire_engine.profile import Profile as Measured
from gradwire_engine.tensor import Tensor as Value
from gradwire_service.host.inside import Inside
from gradwire_service.host.optimizers import held
from gradwire_service.host.protocol.names import GRAD

if TYPE_CHECKING:
    from gradwire.autograd.profiler import Profile
    from gradwire.transaction import Transaction

_BY_HOST = frozenset({"call", "cond", "scan", "transform", "vmap", "while_loop"})
"""Words of steps on programs, which the host runs; all others are done when they are recorded."""


class _Names(HostNames):
    """Names that nobody has to be told of when they are gone."""

    __slots__ = ()

    def forget(self, name: HostName) -> None:
        """Forget a name."""
        self._alive.pop(id(name), None)


class LocalSession(Session):
    """What an embedded session is."""

    runs_here = True
    _may_end = False
    """Whether it has a time to live, or another client may close it."""

    def _begin(
        self,
        transport: Transport,
        made: dict[str, Any],
        first: int = 1,
        prefix: str = "t",
        *,
        attached: bool = False,
    ) -> None:
        super()._begin(transport, made, first, prefix, attached=attached)
        outlives, self.names = self.names.outlives, _Names()
        self.names.outlives = outlives
        self.journal.outlived = True
        self.host: Any = transport.held(self.id)  # type: ignore[attr-defined]
        self._lock = self.host.lock
        self._may_end = outlives or self.host.ttl < self.host.limits.ttl_seconds
        if self.host.meter.limit < self.host.limits.session_bytes:
            self.meter = self.host.meter
            self.meter.roots = partial(_held_of, self.host)
        self.generator = self.host.generator
        self.runs_on = self.device
        self._profiles = 0
        self._look_at_calls()

    # what is done here

    def through(self) -> None:
        """All of the block under way is done: an interrupt behind it leaves it so."""
        block = threads.here.recordings[-1]()
        if block is not None:
            block.through = True

    def _look_at_calls(self) -> None:
        """Know whether an op may be done at once: nothing has to be undone or measured."""
        watched = self._wanted is not None or self._profiles or self._unusable is not None
        watched = watched or self._may_end or self.meter is not None
        self.takes_calls = self.device == "cpu" and not watched

    def let_go(self) -> None:
        """Let go of how tensors were; for the outermost block, which holds the session."""
        if self._wanted is None:
            self.journal.entries.clear()

    def settle(self) -> None:
        """The same, where no block is under way."""
        with self._lock:
            if not is_open(self):
                self.let_go()

    def record(
        self,
        step: Step,
        made: Sequence[Tensor | None] = (),
        arrays: dict[str, np.ndarray] | None = None,
        *,
        mark: int | None = None,
        grad_mode: str | None = None,
    ) -> None:
        """What was done to tensors is done; a step on programs has the host do it."""
        if not _BY_HOST.isdisjoint(step):
            self._have_done(step, made, grad_mode)
        elif "seed" in step:
            self.generator.restart(step["seed"], step.get("draws", 0))
        elif "optimizer" in step and self.names.outlives:
            self._keep_optimizer(step["optimizer"])
        if local.state.anomaly:
            self.note_line(made)
        self.through()

    def note_line(self, made: Sequence[Tensor | None]) -> None:
        """Keep the user's line that made these tensors, for what is said of their nodes."""
        self._note_line(users_line(), made)

    def _have_done(self, step: Step, made: Sequence[Tensor | None], grad_mode: str | None) -> None:
        """Have the host do a step; what it makes are the engine's tensors of these."""
        mode = grad_mode or self.grad_mode
        if mode is not None:
            step["grad_mode"] = mode
        with self._shown_to_host(self._named_in(step)):
            self._tell_anomaly()
            request = Request([step], took=self._took)
            try:
                self.transport.steps(self.id, request)
            except GradwireError as problem:
                self._explain(problem)
            for tensor in made:
                if tensor is not None:
                    tensor._meta = self.host.tensors[tensor._name]

    def planned(self, program: Any, args: Sequence[Tensor]) -> list[Tensor]:
        """What a program of the host gives for these: one node, run by a plan once it ran often."""
        thread, state = threads.here, local.state
        found = None
        if (
            self.takes_calls
            and not (thread.blocks or thread.recordings or state.anomaly)
            and state.default_dtype is DEFAULT[0]
        ):
            with suppress(GradwireError):  # it is said below what is wrong
                found = quietly(_pure, program, args)
        if found is None:
            with self.recording():
                try:
                    found = timed("step", "call", quietly, _planned, program, args)
                except GradwireError as problem:
                    self._explain(problem)
                self.through()
        made = [held_tensor(self, x) for x in found]
        if local.state.anomaly:
            self.note_line(made)
        return made

    def _explain(self, problem: GradwireError) -> NoReturn:
        """Raise what the host said as the user's Python would have met it."""
        origins.tell(problem)
        users = meant(problem)
        try:
            if users is problem:
                raise problem
            raise users from None
        finally:
            del users, problem  # which lead to this frame

    def origin(self, seq: int) -> str:
        """What the node of a number made, as far as that is kept."""
        names = [name for node, (name, _) in list(self._lines.items()) if node.seq == seq]
        return f"tensor {names[0]}" if names else ""

    def _check_usable(self) -> None:
        if self._unusable is not None or self._may_end:
            super()._check_usable()
            self.transport.held(self.id).touch()  # type: ignore[attr-defined]

    def _prepare(self) -> None:
        """Before anything is done: as for any session, and no block is open that was left."""
        super()._prepare()
        if self._transaction is not None:
            self.end_stale()
        if self.meter is not None:
            self.meter.tick()

    def flush(self, returns: Sequence[str] = (), *, data: bool = True) -> Values:
        """Nothing waits; tensors by name, or gradients by `x.grad`."""
        self._check_usable()
        self.end_stale()
        if self._wanted is not None:
            return nothing_yet(returns)
        self.settle()  # an interrupt may have come before the end of a block did so
        known = self.names.tensors() if returns else {}
        return {name: self._by_name(known, name, data) for name in returns}

    def _by_name(self, known: Mapping[str, Tensor], name: str, data: bool) -> Received | None:
        found = known.get(name)
        owner = known.get(name.removesuffix(GRAD))
        if found is None and owner is None:
            raise self.host.missing(name)
        meta = found._meta if found is not None else owner._meta.grad  # type: ignore[union-attr]
        return None if meta is None else _received(meta, data)

    def elements(self, tensor: Tensor) -> np.ndarray:
        """The elements of a tensor, not to be written."""
        if threads.here.recordings:
            end_stale_recordings()
        if not self.takes_calls:
            self._check_usable()
            nothing_yet([""] if self._wanted is not None else [])
        found = tensor._meta
        if type(found) is not Value:
            if hasattr(found, "level"):
                raise looks_at_values("what runs for many gradients at once")
            found.spec  # noqa: B018 (of a lost one: it says why)
        return found.numpy()

    # names

    def give_name(
        self,
        thing: Any,
        spec: Any = None,
        name: str | None = None,
        params: Sequence[HostName] | None = None,
    ) -> HostName:
        """A name for a tensor or an optimizer, a new one if none is given."""
        if self.names.gone:
            self.names.forget_gone()
        return super().give_name(thing, spec, name, params)

    def _record_free(self) -> None:
        """What Python forgets is gone."""
        self.names.forget_gone()

    def free(self, names: Sequence[str]) -> None:
        """Let go of what is here by names that were given by hand."""
        with self.recording():
            for name in names:
                drop(self.host.tensors, name)
            self.through()

    def rename(self, pairs: Sequence[tuple[Tensor, str]], kind: Kind) -> None:
        """Call tensors otherwise; those that were named by hand stay, whether Python holds them."""
        stay = kind == "kept" or (kind == "part" and self.names.outlives)
        with self.recording():
            for tensor, _ in pairs:
                if tensor._host_name.kind != "made":
                    drop(self.host.tensors, tensor._name)
            for tensor, name in pairs:
                assign(tensor._host_name, "text", name)
                assign(tensor._host_name, "kind", kind)
                if stay:
                    self._take_left(name)
                    put(self.host.tensors, name, tensor._meta)
            self.through()

    def _take_left(self, name: str) -> None:
        """Let go of optimizers of what had a name: a module that is gone."""
        gone = self.host.tensors.get(name)
        for key, found in list(self.host.optimizers.items()):
            if any(param is gone for param in found.params):
                drop(self.host.optimizers, key)

    def _keep_optimizer(self, name: str) -> None:
        """Have an optimizer stay, whether Python holds it or not."""
        put(self.host.optimizers, name, self._optimizers()[name])

    # what the host is shown

    def _named_in(self, step: Step) -> dict[str, Value]:
        """The tensors that a step speaks of."""
        known = self.names.tensors()
        found = {}
        for text in texts_in(step):
            tensor = known.get(text)
            if tensor is not None and type(tensor._meta) is Value:
                found[text] = tensor._meta
        return found

    @contextmanager
    def _shown_to_host(
        self, tensors: Mapping[str, Value], optimizers: Mapping[str, Any] | None = None
    ) -> Iterator[None]:
        """A block in which the host's session has these, by name."""
        with self._lock:
            host = self.host
            before = host.tensors, host.optimizers
            try:
                host.tensors = host.tensors | tensors
                host.optimizers = host.optimizers | (optimizers or {})
                host.dtype = self._dtype
                yield
            finally:
                host.tensors, host.optimizers = before

    @contextmanager
    def shown(self) -> Iterator[None]:
        """A block in which the host's session has all tensors and optimizers that Python holds."""
        tensors = {t._name: t._meta for t in self._held() if type(t._meta) is Value}
        with self._shown_to_host(tensors, self._optimizers()):
            self.host.meter.count()
            yield
        self.host.meter.count()

    def _optimizers(self) -> dict[str, Any]:
        """The optimizers that Python holds."""
        return {
            name.text: thing._mirror
            for name in self.names
            if name.params is not None and (thing := name()) is not None
        }

    def _held(self) -> list[Tensor]:
        """Find the tensors that Python holds, frozen ones too.

        With a limit each has a name from the start, for they are counted often.
        """
        if self.meter is not None:
            return [*self.names.tensors().values()]
        if gc.get_freeze_count():
            gc.unfreeze()
            found = gc.get_referrers(self)
            gc.freeze()
        else:
            found = gc.get_referrers(self)
        found = [x for x in found if isinstance(x, Tensor)]
        return [x for x in found if getattr(x, "session", None) is self]

    def info(self) -> dict[str, Any]:
        """The session resource: counts, bytes held, last use, expiry."""
        self.flush()
        with self.shown():
            return self.transport.describe(self.id)

    def graph(self, format: str = "svg", tensor: Tensor | None = None) -> Any:
        """The graph: "json" as data, "dot", "mermaid" or "svg" as text; of one tensor if given."""
        self.flush()
        with self.shown():
            return super().graph(format, tensor)

    def written(self) -> bytes:
        """The session as one file; functions of Python in its graph are refused by name."""
        self.flush()
        with self.shown():
            return self.transport.snapshot(self.id)

    def transform(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """A transform of a program on tensors of the session, by the host in one call."""
        with self.shown():
            return self.transport.transform(name, body)

    def tensor_names(self) -> list[str]:
        """What tensors are called that Python holds or that were named by hand."""
        self.flush()
        return list(dict.fromkeys([*self.host.tensors, *[t._name for t in self._held()]]))

    def keep(self, tensor: Tensor) -> None:
        """Have a tensor stay under its name, whether Python holds it or not."""
        with self.recording():
            assign(tensor._host_name, "kind", "kept")
            put(self.host.tensors, tensor._name, tensor._meta)
            self.through()

    def named(self, name: str) -> Tensor | None:
        """The tensor that was named by hand so, if there is one."""
        self._check_usable()
        meta = self.host.tensors.get(name)
        if meta is None:
            return next((t for t in self._held() if t._name == name), None)
        found = held_tensor(self, meta)
        found._own_name = self.give_name(found, meta.spec, name)
        found._own_name.kind = "kept"
        return found

    def take(self, held: Held) -> tuple[dict[str, Any], dict[str, Any]]:
        """The tensors and optimizers that the host has, which it lets go: they are here now."""
        found = dict(self.host.tensors), dict(self.host.optimizers)
        self.host.tensors.clear()
        self.host.optimizers.clear()
        return found

    @contextmanager
    def profile(self) -> Iterator[Profile]:
        """What each op of a block takes: a table, once the block has ended."""
        from gradwire.autograd.profiler import Profile

        made, asked = Profile(), _Asked(self.meter)
        measured = Measured(lambda: asked.nbytes)
        outer, self._took = self._took, []
        began = perf_counter()
        try:
            self._profiles += 1
            self._look_at_calls()
            with using(profile=measured, meter=asked):
                yield made
        finally:
            by_host, self._took = self._took, outer
            self._profiles -= 1
            self._look_at_calls()
            took = measured.table(perf_counter() - began)
            made.add([took, *by_host])
            if outer is not None:
                outer.extend([took, *by_host])

    # transactions

    def begin_transaction(self, begun: Transaction) -> None:
        """All that is done until its end can be undone."""
        super().begin_transaction(begun)
        self._look_at_calls()

    def end_transaction(self, outer: Transaction | None) -> None:
        """End the innermost transaction; the one around it goes on, if there is one."""
        super().end_transaction(outer)
        self._look_at_calls()
        self.settle()

    def commit(self, transaction: Transaction) -> None:
        """End a transaction: what was done in it stays."""
        self._check_usable()
        transaction.end()

    def refresh(self) -> None:
        """Nothing but what it finds by name: other clients in this process share its tensors."""
        self._check_usable()
        self.refuse_in_transaction()
        self.holds = Held(self.host.tensors, self.host.optimizers, self.generator.state)

    def close(self) -> None:
        """End the session and free what it holds."""
        super().close()
        self._look_at_calls()


class _Asked:
    """The bytes that ops asked for, and were asked of a session's own meter, if it has one."""

    def __init__(self, inner: Any) -> None:
        self.nbytes = 0
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
        """Count them."""
        self.nbytes += nbytes
        if self.inner is not None:
            self.inner.charge(nbytes, flops, ops)


def _held_of(host: Any) -> list[Value]:
    """What Python holds of a session of the host, and what the host keeps for it."""
    found: list[Any] = list(host.held())
    for session in list(forks.sessions):
        if isinstance(session, LocalSession) and session.host is host:
            found += [getattr(tensor, "_meta", None) for tensor in session._held()]
            found += held(session._optimizers())
    return [x for x in found if type(x) is Value and x.spec.device != "meta"]  # or it is no memory


def _planned(program: Any, args: Sequence[Tensor]) -> list[Value]:
    values = [tensor._meta for tensor in args]
    return [in_rows(x, values) for x in called(Inside(program), values)]


def _pure(program: Any, args: Sequence[Tensor]) -> list[Value] | None:
    """What a program gives that neither draws nor writes; None of another, which is not run."""
    values = [tensor._meta for tensor in args]
    found = called_purely(Inside(program), values)
    return None if found is None else [in_rows(x, values) for x in found]


def _received(found: Value, data: bool) -> Received:
    node = found.grad_fn
    return Received(
        found.dtype,
        found.shape,
        found.requires_grad,
        found.is_leaf,
        None if node is None else node.name(),
        found.version,
        found.numpy() if data else None,
    )


__all__ = ["LocalSession"]
