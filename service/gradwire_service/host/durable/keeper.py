"""All durable sessions of a server: found at its start, written, parked when unused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any, NamedTuple, Protocol

import orjson

from gradwire_engine.errors import GradwireError, error
from gradwire_service.host.durable import clock, machine
from gradwire_service.host.durable.log import SessionLog
from gradwire_service.host.durable.program_writes import ProgramWrites
from gradwire_service.host.durable.programs import forget_needless, gone, model_of
from gradwire_service.host.durable.recovery import Recovery, park, snapshot_of
from gradwire_service.host.durable.refusals import damaged, refused, unsure_of_end
from gradwire_service.host.durable.replay import Decode
from gradwire_service.host.durable.replies import StoredReplies
from gradwire_service.host.durable.upkeep import Upkeep
from gradwire_service.host.executor import Executor
from gradwire_service.host.host import Host
from gradwire_service.host.protocol import SessionCreate
from gradwire_service.host.sessions import Session
from gradwire_service.store import Damaged, Entry, Found, SessionRow, Store, Unavailable, Unknown
from gradwire_service.store.rows import ProgramRow

_BETWEEN = 60.0
"""Seconds between looks for what nobody needs any more."""


class Tenant(Protocol):
    """Whose sessions they are."""

    @property
    def name(self) -> str: ...
    @property
    def host(self) -> Host: ...
    @property
    def executor(self) -> Executor: ...


class Tenants(Protocol):
    """All of them; one that wasn't here before is made."""

    def __getitem__(self, name: str) -> Tenant: ...
    def __iter__(self) -> Iterator[Tenant]: ...


class Surroundings(NamedTuple):
    """What a keeper is given: who is served, how bodies are read, and where complaints go.

    nobody: the tenant's name who gets a session of which it can't be read whose it is.
    """

    tenants: Tenants
    nobody: str
    decode: Decode
    complain: Callable[[GradwireError], None]


class New(NamedTuple):
    """A session that isn't in the store yet: its log, its row, what is written."""

    log: SessionLog
    row: SessionRow
    entry: Entry

    def drop(self) -> None:
        """Remove the files of what won't be written, or wasn't."""
        if self.row.file is not None:
            self.log.store.remove([self.row.file])


class Keeper:
    """Writes for the event loop, and knows which sessions are parked."""

    def __init__(self, store: Store, around: Surroundings, upkeep: Upkeep) -> None:
        self.store, self._around, self.upkeep = store, around, upkeep
        self.replies = StoredReplies(store)
        self._facts = store.machines()
        self._machine = machine.name_of(machine.facts())
        self._tasks: set[asyncio.Task[Any]] = set()
        self._looked = time.monotonic()
        self.programs = ProgramWrites(self)
        clock.now(store.latest())
        self._loop: asyncio.AbstractEventLoop | None = None

    # the start and the end

    async def start(self) -> None:
        """Know every session of the store; none is read back before somebody asks for it."""
        self._loop = asyncio.get_running_loop()
        self.store.deliver(self._loop.call_soon_threadsafe)
        if self._machine not in self._facts:
            self._facts[self._machine] = machine.facts()
            said = orjson.dumps(machine.facts()).decode()
            self.store.forget(self.store.machine_entry(self._machine, said))
        await self._tried(self.replies.start)
        await self._tried(self._admit_programs)
        for found in await asyncio.to_thread(self.store.sessions):
            self._adopt(found)
        await asyncio.to_thread(self.store.sweep_files)

    async def _tried(self, work: Callable[[], None]) -> None:
        """Do it in a thread; what can't be read is complained of, and the rest goes on."""
        try:
            await asyncio.to_thread(work)
        except GradwireError as problem:
            self._around.complain(problem)
        except (Damaged, Unavailable) as problem:
            where = f"{self.store.where}: {problem}"
            self._around.complain(
                error("storage_unavailable", where, "restore a backup if it stays")
            )

    def _admit_programs(self) -> None:
        for row in self.store.programs():
            if row.gone is None:
                self._admit(row)

    def _admit(self, row: ProgramRow) -> None:
        host = self._around.tenants[row.tenant].host
        try:
            host.programs.restore(model_of(row), row.created, partial(self._former, row.tenant))
        except GradwireError as problem:
            self._around.complain(problem)

    def _former(self, tenant: str, key: str) -> Any:
        return gone(self.store, tenant, key, self._around.tenants[tenant].host)

    def _adopt(self, found: Found) -> None:
        tenant = self._around.tenants[found.tenant or self._around.nobody]
        log = SessionLog(self.store, found.tenant, self._machine, found.row)
        log.number = found.number
        log.damaged = found.damaged
        about = found.about
        asked = SessionCreate.model_construct(
            **{name: about[name] for name in _SETTINGS if name in about}
        )
        session = tenant.host.adopt(found.id, asked, about.get("created"))
        session.durable = log
        log.names = max(found.names, 0) or about.get("names", 0)
        session.asleep = partial(self._recover, tenant, session)
        if found.damaged is not None:
            self._around.complain(damaged(found.id, found.damaged))

    def _recover(self, tenant: Tenant, session: Session) -> None:
        """Read a session back, in a thread; at once into a snapshot what another machine made."""
        recovery = Recovery(tenant.host, self._around.decode, self._facts.get)
        recovery.recover(session, session.durable)
        if session.durable.foreign and not session.durable.snapping:
            assert self._loop is not None
            self._loop.call_soon_threadsafe(self.snapshot_soon, tenant, session)

    async def stop(self) -> None:
        """Put all changes into snapshots, so that the next start has nothing to run again."""
        waiting = [
            self._save(tenant, session, aside=False)
            for tenant in self._around.tenants
            for session in tenant.host.sessions()
            if session.durable is not None and session.durable.since.changes
        ]
        await asyncio.gather(*waiting, *self._tasks, return_exceptions=True)
        await asyncio.to_thread(self.store.close)

    # writing

    async def commit(self, entry: Entry) -> None:
        """Return when the entry is on the disk; storage_full or storage_unavailable if it isn't.

        Their cause is Unknown where it may be; it is then taken back with what is written next.
        """
        assert self._loop is not None
        future: asyncio.Future[None] = self._loop.create_future()

        def done(problem: BaseException | None) -> None:
            if problem is not None:
                self.replies.failed(entry)
            if future.done():
                return
            if problem is None:
                future.set_result(None)
            else:
                raised = refused(problem)
                raised.__cause__ = problem
                future.set_exception(raised)

        self.store.submit(entry, done)
        await future

    # sessions

    def new(self, tenant: Tenant, session: Session) -> New:
        """What is written of a session that is to be kept from now on."""
        log = SessionLog(self.store, tenant.name, self._machine)
        return New(log, *log.snapshot(session, snapshot_of(session)))

    async def enter(self, host: Host, session: Session, new: New, reply: Entry | None) -> None:
        """Write a new session, and the reply that shows it.

        Where that fails, or nobody waits for it any more, the session is forgotten.
        """
        log, row, entry = new
        whole = entry if reply is None else entry.also(reply)
        try:
            await self.commit(whole)
        except BaseException as problem:
            log.gone = True
            host.delete(session)
            refusal = isinstance(problem, GradwireError)
            if refusal and not isinstance(problem.__cause__, Unknown):
                new.drop()
                raise
            # It is written, or may be: what was submitted isn't called back.
            log.row = row
            removal = log.removal(session.id)
            self.store.forget(removal.also(Entry((), whole.undo)))
            self.replies.failed(whole)
            raise
        log.replace(row)
        session.durable = log

    async def leave(self, host: Host, session: Session, reply: Entry | None) -> None:
        """Forget a session in the store and in memory; whoever calls holds its lane."""
        log: SessionLog = session.durable
        removal = log.removal(session.id)
        try:
            await self.commit(removal if reply is None else removal.also(reply))
        except GradwireError as problem:
            if not isinstance(problem.__cause__, Unknown):
                raise
            self.store.forget(removal)
            log.gone = True
            host.delete(session)
            raise unsure_of_end(session.id) from problem
        log.gone = True
        host.delete(session)

    def snapshot_soon(self, tenant: Tenant, session: Session) -> None:
        """Take a snapshot of a session when its lane is free."""
        session.durable.snapping = True
        self.task(self._save(tenant, session, aside=False))

    def task(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Have something done that goes on where nobody waits for it, until the server's end."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _save(self, tenant: Tenant, session: Session, *, aside: bool) -> None:
        """A snapshot of what came since the last one; `aside` has memory then let go of it."""
        log: SessionLog = session.durable

        def work() -> tuple[SessionRow, Entry] | None:
            if session.closed or session.asleep is not None or not log.since.changes:
                return None
            began = time.perf_counter()
            made = log.snapshot(session, snapshot_of(session))
            log.cost = time.perf_counter() - began
            return made

        async def settle(made: tuple[SessionRow, Entry] | None) -> None:
            if made is not None:
                await self._replace(log, *made)
            if aside and not session.closed and session.users == 1 and session.asleep is None:
                log.names = len(session.tensors)
                park(session)
                session.asleep = partial(self._recover, tenant, session)

        try:
            await tenant.executor.run(session, work, None, settle, wake=False, touch=False)
        except GradwireError as problem:
            self._around.complain(problem)  # the log has it all; a later snapshot may go well
        finally:
            log.snapping = False

    async def _replace(self, log: SessionLog, row: SessionRow, entry: Entry) -> None:
        try:
            await self.commit(entry)
        except GradwireError as problem:
            if row.file is not None and not isinstance(problem.__cause__, Unknown):
                await asyncio.to_thread(self.store.remove, [row.file])
            raise
        log.replace(row)

    # what is done now and then

    def look(self) -> None:
        """Park the sessions that nobody uses, and forget what nobody needs."""
        for tenant in self._around.tenants:
            for session in tenant.host.sessions():
                if self._idle(session):
                    session.durable.snapping = True
                    self.task(self._save(tenant, session, aside=True))
        if time.monotonic() > self._looked + _BETWEEN:
            self._looked = time.monotonic()
            self.task(self.tidy())

    def _idle(self, session: Session) -> bool:
        log: SessionLog | None = session.durable
        idle = time.time() - session.last_use > self.upkeep.park_seconds
        return (
            log is not None and idle and session.asleep is None and not session.users
            and not log.snapping
        )  # fmt: skip

    async def tidy(self) -> None:
        """Forget deleted programs and old replies that nobody needs; try removals again."""
        for tenant in self._around.tenants:
            await self._tried(partial(self._tidy, tenant, self._floor(tenant)))
        self.store.retry_removals()

    def _tidy(self, tenant: Tenant, floor: float) -> None:
        forget_needless(self.store, tenant.name, tenant.host, floor)
        self.replies.expire(tenant.name, tenant.host.limits)

    def _floor(self, tenant: Tenant) -> float:
        """When the oldest change under way began, or now."""
        logs = [s.durable for s in tenant.host.sessions() if s.durable is not None]
        return min([log.began for log in logs if log.began is not None], default=clock.now())


_SETTINGS = (
    "label", "device", "dtype", "ttl_seconds", "memory_limit_bytes", "detect_anomaly",
)  # fmt: skip
