"""Random functions and all their derivatives: python -m tests.parity.higher_order [--seed N]."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from rich.console import Console
from rich.progress import track
from tests.clients.serving import serving
from tests.parity.higher_order import planned
from tests.parity.higher_order.campaign import Tally, one, seeds_from

EMBEDDED, OVER_HTTP, PLANNED = 500, 50, 500
PROGRAMS = 100_000
"""That the server may store: each way to each function brings some of its own."""


def main() -> int:
    """Try functions embedded, over HTTP, then by plans; 1 if any differed."""
    asked = _arguments()
    console = Console()
    console.print(f"functions over functions: seed {asked.seed}")
    with ProcessPoolExecutor(asked.workers) as pool:
        tried = [_shown("embedded", console, pool, one, asked.seed, asked.embedded)]
        with serving(programs=PROGRAMS) as url:
            there = partial(one, url=url)
            tried.append(_shown("over HTTP", console, pool, there, asked.seed + 1, asked.http))
        tried.append(_shown("by plans", console, pool, planned.one, asked.seed, asked.planned))
    return 1 if any(tally.failures for tally in tried) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="of a run")
    parser.add_argument("--embedded", type=int, default=EMBEDDED, help="functions embedded")
    parser.add_argument("--http", type=int, default=OVER_HTTP, help="functions over HTTP")
    parser.add_argument("--planned", type=int, default=PLANNED, help="functions by plans")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    return parser.parse_args()


def _shown(
    where: str,
    console: Console,
    pool: ProcessPoolExecutor,
    try_one: Callable[[int], Tally],
    seed: int,
    count: int,
) -> Tally:
    whole = Tally()
    tallies = pool.map(try_one, seeds_from(seed, count), chunksize=4)
    for tally in track(tallies, where, count, console=console):
        whole.add(tally)
        for failure in tally.failures:
            console.print(failure, markup=False, highlight=False)
    console.print(f"{where}: {whole.summary()}", markup=False, highlight=False)
    return whole


if __name__ == "__main__":
    sys.exit(main())
