"""Lanes: one at a time, in order of arrival, whoever gives up."""

from __future__ import annotations

import asyncio

import pytest

from gradwire_service.host.executor import Lane


async def _given_up(before: bool) -> None:
    """One in the lane, two who wait; the first of these gives up as its turn comes, or before."""
    lane, entered = Lane(), []

    async def enter(name: str) -> None:
        await lane.enter()
        entered.append(name)

    await enter("first")
    second, third = (asyncio.ensure_future(enter(name)) for name in ("second", "third"))
    await asyncio.sleep(0)
    if before:
        second.cancel()
        lane.leave()
    else:
        lane.leave()
        second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    await third
    assert entered == ["first", "third"]
    assert len(lane) == 1
    lane.leave()
    assert len(lane) == 0


@pytest.mark.parametrize("before", [True, False])
def test_who_gives_up_as_its_turn_comes_is_passed_over(before: bool) -> None:
    asyncio.run(_given_up(before))
