"""Turns on the event loop: nobody's requests keep it for long, and no queue has no end."""

from __future__ import annotations

import asyncio
import time
import weakref
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gradwire_engine.errors import GradwireError
from gradwire_service.host.host import Host
from gradwire_service.host.limits import Limits
from gradwire_service.host.protocol.requests import SessionCreate
from gradwire_service.http.turns import Queue, Turns


def tenant(most: int) -> Any:
    return SimpleNamespace(queue=Queue(), host=SimpleNamespace(limits=Limits(requests=most)))


def never() -> bool:
    """Nobody computes."""
    return False


async def taken(turns: Turns, asking: Any) -> None:
    """A request that comes when there are many."""
    turns.now(asking, time.monotonic())
    await turns.wait(asking)


def test_those_that_wait_go_in_their_order_and_others_in_between() -> None:
    async def work() -> list[int]:
        turns, asking, order = Turns(shared=False, behind=never), tenant(1000), list[int]()
        rounds = 0

        async def one(number: int) -> None:
            await taken(turns, asking)
            order.append(number)

        tasks = [asyncio.ensure_future(one(number)) for number in range(300)]
        while not all(task.done() for task in tasks):
            rounds += 1
            await asyncio.sleep(0)
        assert rounds > 3
        return order

    assert asyncio.run(work()) == list(range(300))


def test_those_that_wait_let_threads_get_on_but_not_for_ever() -> None:
    """And who has nothing waiting goes on at once, where others are to rest."""

    async def work() -> None:
        computing = True
        turns, order = Turns(shared=True, behind=lambda: computing), list[str]()
        flood, other = tenant(1000), tenant(1000)

        async def one() -> None:
            await taken(turns, flood)
            order.append("flood")

        tasks = [asyncio.ensure_future(one()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not order
        assert turns.now(other, time.monotonic())
        await tasks[0]  # the threads don't get on: the processor is somebody else's
        computing = False
        await asyncio.gather(*tasks)

    asyncio.run(work())


def test_among_tenants_each_has_one_in_a_round() -> None:
    async def work() -> list[str]:
        turns, order = Turns(shared=True, behind=never), list[str]()
        asking = {name: tenant(1000) for name in ("flood", "other")}

        async def one(name: str) -> None:
            await taken(turns, asking[name])
            order.append(name)

        tasks = [asyncio.ensure_future(one("flood")) for _ in range(50)]
        tasks += [asyncio.ensure_future(one("other")) for _ in range(3)]
        await asyncio.gather(*tasks)
        return order

    order = asyncio.run(work())
    assert sorted(order[:6]) == ["flood"] * 3 + ["other"] * 3


def test_a_queue_has_an_end() -> None:
    async def work() -> int:
        turns, asking = Turns(shared=False, behind=never), tenant(10)
        tasks = [asyncio.ensure_future(taken(turns, asking)) for _ in range(25)]
        found = await asyncio.gather(*tasks, return_exceptions=True)
        refused = [raised for raised in found if raised is not None]
        assert {cast(GradwireError, raised).code for raised in refused} == {"overloaded"}
        assert all(cast(GradwireError, raised).retry_after for raised in refused)
        return len(refused)

    assert asyncio.run(work()) == 15


def test_who_goes_away_while_waiting_leaves_no_trace() -> None:
    async def work() -> None:
        turns, asking = Turns(shared=False, behind=never), tenant(10)
        tasks = [asyncio.ensure_future(taken(turns, asking)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert [task.cancelled() for task in tasks] == [False, True, False]
        assert not asking.queue

    asyncio.run(work())


def test_a_closed_session_is_gone_without_the_collector() -> None:
    host = Host()
    session = host.create(SessionCreate())
    seen = weakref.ref(session)
    host.delete(session)
    del session
    assert seen() is None


def test_a_seat_of_an_expired_session_is_free() -> None:
    host = Host(Limits(sessions=1))
    host.create(SessionCreate(ttl_seconds=1e-6))
    host.create(SessionCreate())
    with pytest.raises(GradwireError, match="limit is 1 sessions"):
        host.create(SessionCreate())
