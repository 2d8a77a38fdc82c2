"""Random functions and all their derivatives: python -m tests.parity.higher_order [--seed N]."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from rich.console import Console
from rich.progress import track
from tests.clients.serving import serving
from tests.parity.higher_order.campaign import Tally, one, seeds_from

EMBEDDED, OVER_HTTP = 500, 50
PROGRAMS = 100_000
"""That the server may store: each way to each function brings some of its own."""


def main() -> int:
    """Try functions embedded, then over HTTP; 1 if any differed."""
    asked = _arguments()
    console = Console()
    console.print(f"functions over functions: seed {asked.seed}")
    with ProcessPoolExecutor(asked.workers) as pool:
        embedded = _shown("embedded", console, pool, asked.seed, asked.embedded, None)
        with serving(programs=PROGRAMS) as url:
            over_http = _shown("over HTTP", console, pool, asked.seed + 1, asked.http, url)
    return 1 if embedded.failures or over_http.failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="of a run")
    parser.add_argument("--embedded", type=int, default=EMBEDDED, help="functions embedded")
    parser.add_argument("--http", type=int, default=OVER_HTTP, help="functions over HTTP")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    return parser.parse_args()


def _shown(
    where: str, console: Console, pool: ProcessPoolExecutor, seed: int, count: int, url: str | None
) -> Tally:
    whole = Tally()
    tallies = pool.map(partial(one, url=url), seeds_from(seed, count), chunksize=4)
    for tally in track(tallies, where, count, console=console):
        whole.add(tally)
        for failure in tally.failures:
            console.print(failure, markup=False, highlight=False)
    console.print(f"{where}: {whole.summary()}", markup=False, highlight=False)
    return whole


if __name__ == "__main__":
    sys.exit(main())
