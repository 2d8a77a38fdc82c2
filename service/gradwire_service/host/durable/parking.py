"""Durable sessions put into snapshots, parked on the disk, and brought back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from gradwire_engine.errors import GradwireError
from gradwire_service.host.durable.log import SessionLog
from gradwire_service.host.durable.recovery import Recovery, park, snapshot_of
from gradwire_service.host.durable.surroundings import Surroundings, Tenant, Tenants
from gradwire_service.host.sessions import Session
from gradwire_service.store.rows import Entry, SessionRow, Unknown

if TYPE_CHECKING:
    from gradwire_service.host.durable.keeper import Keeper


class Parking:
    """Which session is in memory, and when it is written whole. machines: facts by their names."""

    def __init__(
        self, keeper: Keeper, around: Surroundings, machines: Mapping[str, dict[str, Any]]
    ) -> None:
        self._keeper, self._around, self._machines = keeper, around, machines

    def recover(self, tenant: Tenant, session: Session) -> None:
        """Read a session back, in a thread; at once into a snapshot what another machine made."""
        recovery = Recovery(tenant.host, self._around.decode, self._machines.get)
        known = session.durable.damaged is not None
        try:
            recovery.recover(session, session.durable)
        except GradwireError as problem:
            if problem.code == "session_damaged" and not known:
                self._around.complain(problem)  # once: the next look needn't read it to know
            raise
        if session.durable.foreign and not session.durable.snapping:
            self._keeper.on_loop(partial(self.soon, tenant, session))

    def soon(self, tenant: Tenant, session: Session) -> None:
        """Take a snapshot of a session when its lane is free."""
        session.durable.snapping = True
        self._keeper.task(self.save(tenant, session, aside=False))

    async def save(self, tenant: Tenant, session: Session, *, aside: bool) -> None:
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
                tenant.host.parkings += 1
                session.asleep = partial(self.recover, tenant, session)

        try:
            await tenant.executor.run(session, work, None, settle, wake=False, touch=False)
        except GradwireError as problem:
            self._around.complain(problem)  # the log has it all; a later snapshot may go well
        finally:
            log.snapping = False

    async def _replace(self, log: SessionLog, row: SessionRow, entry: Entry) -> None:
        try:
            await self._keeper.commit(entry)
        except GradwireError as problem:
            if not isinstance(problem.__cause__, Unknown):
                if row.file is not None:
                    await asyncio.to_thread(self._keeper.store.remove, [row.file])
                raise
            self._around.complain(problem)  # it is written again before anything else
        log.replace(row)

    def look(self, tenants: Tenants) -> None:
        """Park the sessions that nobody uses."""
        for tenant in tenants:
            for session in tenant.host.sessions():
                if self._idle(session):
                    session.durable.snapping = True
                    self._keeper.task(self.save(tenant, session, aside=True))

    def _idle(self, session: Session) -> bool:
        log: SessionLog | None = session.durable
        idle = time.time() - session.last_use > self._keeper.upkeep.park_seconds
        return (
            log is not None and idle and session.asleep is None and not session.users
            and not log.snapping
        )  # fmt: skip
