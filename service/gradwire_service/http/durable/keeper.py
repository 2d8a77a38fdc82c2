"""All durable sessions of a server: found at its start, written, put aside when unused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from gradwire_engine.errors import GradwireError
from gradwire_service.host.programs import Stored
from gradwire_service.host.protocol import SessionCreate
from gradwire_service.host.sessions import Session
from gradwire_service.http.call import Answer, Call
from gradwire_service.http.durable.awake import put_aside, snapshot_of, wake
from gradwire_service.http.durable.change import Pace
from gradwire_service.http.durable.kept import Keeping
from gradwire_service.http.durable.lasting import Lasting, damaged, refused
from gradwire_service.http.durable.programs import forget_needless, gone, model_of, row_of
from gradwire_service.http.idempotency.once import kept_of, told
from gradwire_service.http.tenant import EVERYBODY, Tenant, Tenants
from gradwire_service.store import Entry, Found, SessionRow, Store
from gradwire_service.store.rows import ProgramRow

if TYPE_CHECKING:
    from gradwire_service.http.log import Log

_BETWEEN = 60.0
"""Seconds between looks for what nobody needs any more."""
New = tuple[Lasting, SessionRow, Entry]
"""A session that isn't in the store yet: what will be had of it, its row, what is written."""


class Keeper:
    """Writes for the event loop, and knows which sessions sleep."""

    def __init__(self, store: Store, tenants: Tenants, log: Log, pace: Pace) -> None:
        self.store, self._tenants, self._log = store, tenants, log
        self.pace = pace
        self._keeping = Keeping(store)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._looked = time.monotonic()
        self._loop: asyncio.AbstractEventLoop | None = None

    # the start and the end

    async def start(self) -> None:
        """Know every session of the store; none is read back before somebody asks for it."""
        self._loop = asyncio.get_running_loop()
        self.store.deliver(self._loop.call_soon_threadsafe)
        self._tenants.keep(self._keeping.reply)
        for row in await asyncio.to_thread(self.store.programs):
            if row.gone is None:
                self._admit(row)
        for found in await asyncio.to_thread(self.store.sessions):
            self._adopt(found)
        await asyncio.to_thread(self.store.sweep_files)

    def _admit(self, row: ProgramRow) -> None:
        host = self._tenants[row.tenant].host
        try:
            host.programs.restore(model_of(row), row.created, partial(self._former, row.tenant))
        except GradwireError as problem:
            self._log.complaint(problem)

    def _former(self, tenant: str, key: str) -> Any:
        return gone(self.store, tenant, key, self._tenants[tenant].host)

    def _adopt(self, found: Found) -> None:
        tenant = self._tenants[found.tenant or EVERYBODY]
        lasting = Lasting(self.store, found.tenant, found.row)
        lasting.number = found.number
        lasting.damaged = found.damaged
        about = found.about
        asked = SessionCreate.model_construct(
            **{name: about[name] for name in _SETTINGS if name in about}
        )
        session = tenant.host.adopt(found.id, asked, about.get("created"))
        session.durable = lasting
        lasting.names = max(found.names, 0) or about.get("names", 0)
        session.asleep = partial(wake, tenant.host, session, lasting)
        if found.damaged is not None:
            self._log.complaint(damaged(found.id, found.damaged))

    async def stop(self) -> None:
        """Put all changes into snapshots, so that the next start has nothing to run again."""
        waiting = [
            self._save(tenant, session, aside=False)
            for tenant in self._tenants
            for session in tenant.host.sessions()
            if session.durable is not None and session.durable.since.changes
        ]
        await asyncio.gather(*waiting, *self._tasks, return_exceptions=True)
        await asyncio.to_thread(self.store.close)

    # writing

    async def commit(self, entry: Entry) -> None:
        """Return when the entry is on the disk; storage_full or storage_unavailable if it isn't."""
        assert self._loop is not None
        future: asyncio.Future[None] = self._loop.create_future()

        def done(problem: BaseException | None) -> None:
            if future.done():
                return
            if problem is None:
                future.set_result(None)
            else:
                future.set_exception(refused(problem))

        self.store.submit(entry, done)
        await future

    def with_reply(
        self, entry: Entry, call: Call, answer: Answer | None, raised: GradwireError | None = None
    ) -> Entry:
        """The entry, and the reply with it, if it is to be kept for an Idempotency-Key."""
        if call.place is None:
            return entry
        if answer is None:
            assert raised is not None
            answer = told(raised, call)
        kept = kept_of(answer, call.fingerprint, call.host.limits.idempotency_bytes)
        return self._keeping.reply_added(entry, call.tenant.name, call.place, kept)

    async def keep_reply(self, call: Call, answer: Answer) -> None:
        """Keep a reply of a durable session's that came with no change."""
        await self.commit(self.with_reply(Entry(), call, answer))

    # sessions

    def new(self, tenant: Tenant, session: Session) -> New:
        """What is written of a session that is to be kept from now on."""
        lasting = Lasting(self.store, tenant.name)
        row, entry = lasting.snapshot(session, snapshot_of(session))
        return lasting, row, entry

    async def enter(self, call: Call, session: Session, new: New, answer: Answer) -> Answer:
        """Write a new session, and give the answer; forget the session where that fails."""
        lasting, row, entry = new
        try:
            await self.commit(self.with_reply(entry, call, answer))
        except BaseException:
            call.host.delete(session)
            self.store.remove([] if row.file is None else [row.file])
            raise
        call.kept = True
        lasting.replace(row)
        session.durable = lasting
        return answer

    async def leave(self, call: Call, session: Session) -> None:
        """Forget a session in the store; whoever calls holds its lane."""
        lasting: Lasting = session.durable
        await self.commit(self.with_reply(lasting.removal(session.id), call, Answer(204)))
        call.kept = lasting.gone = True
        self.store.remove(lasting.files)

    def snapshot_soon(self, tenant: Tenant, session: Session) -> None:
        """Take a snapshot of a session when its lane is free."""
        session.durable.snapping = True
        self._task(self._save(tenant, session, aside=False))

    def _task(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _save(self, tenant: Tenant, session: Session, *, aside: bool) -> None:
        """A snapshot of what came since the last one; `aside` has memory then let go of it."""
        lasting: Lasting = session.durable

        def work() -> tuple[SessionRow, Entry] | None:
            if session.closed or session.asleep is not None or not lasting.since.changes:
                return None
            began = time.perf_counter()
            made = lasting.snapshot(session, snapshot_of(session))
            lasting.cost = time.perf_counter() - began
            return made

        async def settle(made: tuple[SessionRow, Entry] | None) -> None:
            if made is not None:
                await self.commit(made[1])
                files = lasting.replace(made[0])
                await asyncio.to_thread(self.store.remove, files)
            if aside and not session.closed and session.users == 1 and session.asleep is None:
                lasting.names = len(session.tensors)
                put_aside(session)
                session.asleep = partial(wake, tenant.host, session, lasting)

        try:
            await tenant.executor.run(session, work, None, settle, wake=False, touch=False)
        except GradwireError as problem:
            self._log.complaint(problem)  # the log has it all; a later snapshot may go well
        finally:
            lasting.snapping = False

    def look(self) -> None:
        """Put aside the sessions that nobody uses, and forget what nobody needs; now and then."""
        for tenant in self._tenants:
            for session in tenant.host.sessions():
                if self._idle(session):
                    session.durable.snapping = True
                    self._task(self._save(tenant, session, aside=True))
        if time.monotonic() > self._looked + _BETWEEN:
            self._looked = time.monotonic()
            self._task(self._tidy())

    def _idle(self, session: Session) -> bool:
        lasting: Lasting | None = session.durable
        idle = time.time() - session.last_use > self.pace.park_seconds
        return (
            lasting is not None and idle and session.asleep is None and not session.users
            and not lasting.snapping
        )  # fmt: skip

    async def _tidy(self) -> None:
        for tenant in self._tenants:
            limits = tenant.host.limits
            needed = [stored.program for stored in tenant.host.programs.all()]
            await asyncio.to_thread(forget_needless, self.store, tenant.name, needed)
            await asyncio.to_thread(self._keeping.expire, tenant.name, limits)
        self.store.again()

    # programs

    async def keep_program(self, call: Call, stored: Stored) -> None:
        """Write a program that was just posted; forget it where that fails."""
        try:
            await self.commit(self._keeping.program(row_of(call.tenant.name, stored)))
        except GradwireError:
            call.host.programs.delete(stored.program.id)
            raise

    async def forget_program(self, call: Call, key: str) -> None:
        """Write that a program was deleted; logs that name it still find it."""
        await self.commit(self._keeping.deletion(call.tenant.name, key))


_SETTINGS = (
    "label", "device", "dtype", "ttl_seconds", "memory_limit_bytes", "detect_anomaly",
)  # fmt: skip
