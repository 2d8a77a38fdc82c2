"""The differential tester at full size: python -m tests.parity.differential [--seed N]."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from rich.console import Console
from rich.progress import Progress
from tests.clients.serving import serving
from tests.parity.differential.campaign import Tally, one, seeds_from

EMBEDDED, OVER_HTTP = 3000, 300


def main() -> int:
    """Run programs embedded, then over HTTP; 1 if any differed, or what came up is too little."""
    asked = _arguments()
    console = Console()
    console.print(f"seed {asked.seed}")
    with ProcessPoolExecutor(asked.workers) as pool:
        embedded = _shown("embedded", pool, asked.seed, asked.embedded, None)
        with serving("--log", "none") as url:
            over_http = _shown("over HTTP", pool, asked.seed + 1, asked.http, url)
    return 0 if embedded.holds() and over_http.holds() else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="of a run")
    parser.add_argument("--embedded", type=int, default=EMBEDDED, help="programs embedded")
    parser.add_argument("--http", type=int, default=OVER_HTTP, help="programs over HTTP")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    return parser.parse_args()


def _shown(where: str, pool: ProcessPoolExecutor, seed: int, count: int, url: str | None) -> Tally:
    whole = Tally()
    with Progress() as progress:
        bar = progress.add_task(where, total=count)
        for tally in _tallies(pool, seed, count, url):
            whole.add(tally)
            for failure in tally.failures:
                _say(progress.console, failure)
            progress.advance(bar)
    _say(progress.console, f"\n{where}: {whole.summary()}\n")
    return whole


def _say(console: Console, text: str) -> None:
    """Print text as it is: programs are to be copied, and [::2] is no picture."""
    console.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)


def _tallies(pool: ProcessPoolExecutor, seed: int, count: int, url: str | None) -> Iterator[Tally]:
    yield from pool.map(partial(one, url=url), seeds_from(seed, count), chunksize=8)


if __name__ == "__main__":
    sys.exit(main())
