"""Programs posted and deleted where they are kept: nobody finds what isn't on the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from gradwire_service.host.durable import clock
from gradwire_service.host.durable.programs import deletion, posting, row_of
from gradwire_service.host.programs import Stored

if TYPE_CHECKING:
    from gradwire_service.host.durable.keeper import Keeper
    from gradwire_service.host.durable.surroundings import Tenant


class ProgramWrites:
    """One write of each program at a time; it goes on where the caller has hung up."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._writing: dict[tuple[str, str], asyncio.Task[Any]] = {}

    async def post(self, tenant: Tenant, made: Stored) -> tuple[Stored, bool]:
        """Keep a program that was built; also whether it is new. Errors as of `commit`."""
        await self._before(tenant, made.program.id)
        found = tenant.host.programs.kept(made.program.id)
        if found is not None:
            return found, False
        tenant.host.programs.reserve(made)
        await self._write(tenant, made.program.id, self._post(tenant, made))
        return tenant.host.programs.kept(made.program.id) or made, True

    async def _post(self, tenant: Tenant, made: Stored) -> None:
        programs = tenant.host.programs
        try:
            entry = posting(row_of(tenant.name, made), clock.now())
            await self._keeper.commit(entry)
        except BaseException:
            programs.release(made)
            raise
        programs.keep(made)

    async def delete(self, tenant: Tenant, key: str) -> None:
        """Forget a program, but for the logs that name it. program_not_found, or as of `commit`."""
        await self._before(tenant, key)
        found = tenant.host.programs.stored(key)
        tenant.host.programs.delete(key)  # what uses it from now on would be later than its end
        await self._write(tenant, key, self._delete(tenant, found))

    async def _delete(self, tenant: Tenant, found: Stored) -> None:
        try:
            await self._keeper.commit(deletion(tenant.name, found.program.id, clock.now()))
        except BaseException:
            tenant.host.programs.put_back(found)
            raise

    async def _before(self, tenant: Tenant, key: str) -> None:
        """Wait for the write of this program that is under way."""
        while (task := self._writing.get((tenant.name, key))) is not None:
            await asyncio.wait([task])

    async def _write(self, tenant: Tenant, key: str, work: Coroutine[Any, Any, None]) -> None:
        place = tenant.name, key
        task = self._writing[place] = self._keeper.task(work)
        task.add_done_callback(lambda _: self._writing.pop(place))
        await asyncio.shield(task)
