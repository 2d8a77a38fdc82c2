"""What begins where it is read, and then has to wait, goes on as a task of asyncio."""

from __future__ import annotations

import asyncio
from inspect import iscoroutine

from gradwire_service.http import at_once


async def _waits(found: list[str]) -> None:
    found.append("begun")
    await asyncio.sleep(0)
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        found.append("cancelled")
        await asyncio.sleep(0)
        found.append("ended")


def test_it_begins_at_once_and_is_told_what_its_task_is_told() -> None:
    found: list[str] = []

    async def run() -> None:
        task = at_once.begin(_waits(found))
        assert found == ["begun"]
        assert task is not None
        assert iscoroutine(task.get_coro()), "a task takes nothing else since Python 3.12"
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    asyncio.run(run())
    assert found == ["begun", "cancelled", "ended"]


def test_what_never_waits_is_no_task() -> None:
    async def run() -> None:
        async def ends() -> None:
            pass

        assert at_once.begin(ends()) is None

    asyncio.run(run())
