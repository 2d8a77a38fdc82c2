"""The threads that compute: how they are shared."""

from __future__ import annotations

import asyncio
import time
from threading import Barrier, BrokenBarrierError, Event

from gradwire_service.host.pool import Pool, Share


async def both(pool: Pool, share: Share) -> bool:
    """Whether two tasks of this share run at the same time."""
    barrier = Barrier(2)

    def meet() -> bool:
        try:
            barrier.wait(0.5)
        except BrokenBarrierError:
            return False
        return True

    done = [pool.submit(share, meet, lambda _: None) for _ in range(2)]
    return all(await asyncio.gather(*done))


def spend(seconds: float) -> None:
    """Compute for so long, of this thread's own time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_who_asks_how_long_it_takes_hears_of_what_runs_now() -> None:
    async def main() -> None:
        pool = Pool(1)
        await pool.submit(pool.share(), lambda: None, lambda _: None)
        before, looked = pool.patience(10), Event()
        running = pool.submit(pool.share(), lambda: looked.wait(30), lambda _: None)
        await asyncio.sleep(0.2)
        assert pool.patience(10) >= max(0.9, before)
        looked.set()
        await running
        pool.close()

    asyncio.run(main())


def test_short_work_runs_one_after_the_other_where_there_is_one_core_for_it() -> None:
    """What turns out long has others beside it."""

    async def main() -> None:
        pool = Pool(4)
        pool._at_once = 1
        share, running, most = pool.share(), list[int](), list[int]()

        def short() -> None:
            running.append(1)
            most.append(len(running))
            time.sleep(0.001)
            running.pop()

        await asyncio.gather(*(pool.submit(share, short, lambda _: None) for _ in range(8)))
        assert len(most) == 8
        assert set(most) == {1}
        assert await both(pool, share)
        pool.close()

    asyncio.run(main())


def test_the_event_loop_is_told_when_threads_have_less_than_their_part() -> None:
    async def main() -> None:
        pool, go_on = Pool(1), Event()
        share = pool.share()
        assert not pool.behind()
        asked = [pool.submit(share, lambda: go_on.wait(30), lambda _: None) for _ in range(2)]
        spend(0.02)
        assert pool.behind()  # they have only waited
        go_on.set()
        await asyncio.gather(*asked)
        spend(0.02)
        assert not pool.behind()  # nothing waits any more
        asked = [pool.submit(share, lambda: spend(0.05), lambda _: None) for _ in range(3)]
        await asked[0]
        assert not pool.behind()  # they had it all
        await asyncio.gather(*asked)
        pool.close()

    asyncio.run(main())


def test_one_alone_has_all_threads() -> None:
    """Until another comes: a share that never had work, as that without keys, is none."""

    async def main() -> None:
        pool = Pool(2)
        _, alice, bob = pool.share(), pool.share(), pool.share()
        assert await both(pool, alice)
        await pool.submit(bob, lambda: None, lambda _: None)
        assert not await both(pool, alice)
        assert not await both(pool, bob)
        pool.close()

    asyncio.run(main())
