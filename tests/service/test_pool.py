"""The threads that compute: how they are shared."""

from __future__ import annotations

import asyncio
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
