"""All durable sessions of a server: found at its start, written, parked when unused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple

import orjson

from gradwire_engine.errors import GradwireError, error
from gradwire_service.host.durable import clock, machine
from gradwire_service.host.durable.log import SessionLog
from gradwire_service.host.durable.parking import Parking
from gradwire_service.host.durable.program_writes import ProgramWrites
from gradwire_service.host.durable.programs import forget_needless, gone, model_of
from gradwire_service.host.durable.recovery import snapshot_of
from gradwire_service.host.durable.refusals import damaged, refused
from gradwire_service.host.durable.replies import StoredReplies
from gradwire_service.host.durable.surroundings import Surroundings, Tenant
from gradwire_service.host.durable.upkeep import Upkeep
from gradwire_service.host.host import Host
from gradwire_service.host.protocol.requests import SessionCreate
from gradwire_service.host.sessions import Session
from gradwire_service.store.rows import (
    Damaged,
    Entry,
    Found,
    SessionRow,
    Unavailable,
    Unknown,
)
from gradwire_service.store.store import Store

_BETWEEN = 60.0
"""Seconds between looks for what nobody needs any more."""


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
        self.parking = Parking(self, around, self._facts)
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
            if row.gone is not None:
                continue
            host = self._around.tenants[row.tenant].host
            former = partial(gone, self.store, row.tenant, host=host)
            try:
                host.programs.restore(model_of(row), row.created, former)
            except GradwireError as problem:
                self._around.complain(problem)

    def _adopt(self, found: Found) -> None:
        tenant = self._around.tenants[found.tenant or self._around.nobody]
        log = SessionLog(self.store, found.tenant, self._machine, found.row)
        log.number = found.number
        log.damaged = found.damaged
        about = found.about
        asked = SessionCreate.model_construct(
            **{name: said for name, said in about.items() if name in SessionCreate.model_fields}
        )
        session = tenant.host.adopt(found.id, asked, about.get("created"))
        session.durable = log
        log.names = max(found.names, 0) or about.get("names", 0)
        session.asleep = partial(self.parking.recover, tenant, session)
        if found.damaged is not None:
            self._around.complain(damaged(found.id, found.damaged))

    async def stop(self) -> None:
        """Put all changes into snapshots, so that the next start has nothing to run again."""
        waiting = [
            self.parking.save(tenant, session, aside=False)
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
            raise error(
                "storage_unavailable",
                f"session {session.id} is closed, and it isn't known whether that is written where "
                "sessions are kept; it will be",
                "nothing has to be done; should the server be killed before, the session may be "
                "there again",
            ) from problem
        log.gone = True
        host.delete(session)

    def task(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Have something done that goes on where nobody waits for it, until the server's end."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def on_loop(self, call: Callable[[], None]) -> None:
        """Have something called on the event loop, from a thread."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(call)

    # what is done now and then

    def look(self) -> None:
        """Park the sessions that nobody uses, and forget what nobody needs."""
        self.parking.look(self._around.tenants)
        if time.monotonic() > self._looked + _BETWEEN:
            self._looked = time.monotonic()
            self.task(self.tidy())

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
