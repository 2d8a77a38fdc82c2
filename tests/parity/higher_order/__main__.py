"""Random functions and all their derivatives: python -m tests.parity.higher_order [--seed N]."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections import deque
from functools import partial

from rich.console import Console
from rich.progress import track
from tests.clients.serving import serving
from tests.parity.higher_order import planned
from tests.parity.higher_order.campaign import Tally, lost, one, seeds_from
from tests.parity.workers import Lost, Work, each

EMBEDDED, OVER_HTTP, PLANNED = 500, 50, 500
PROGRAMS = 100_000
"""That the server may store: each way to each function brings some of its own."""


def main() -> int:
    """Try functions embedded, over HTTP, then by plans; 1 if any differed."""
    asked = _arguments()
    console = Console()
    console.print(f"functions over functions: seed {asked.seed}")
    shown = partial(_shown, console, asked.workers)
    tried = [shown("embedded", one, asked.seed, asked.embedded)]
    with serving("--log", "none", programs=PROGRAMS) as url:
        tried.append(shown("over HTTP", partial(one, url=url), asked.seed + 1, asked.http))
    tried.append(shown("by plans", planned.one, asked.seed, asked.planned))
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
    console: Console, workers: int, where: str, try_one: Work[Tally], seed: int, count: int
) -> Tally:
    whole = Tally()
    results = each(try_one, deque(seeds_from(seed, count)), workers)
    for result in track(results, where, count, console=console):
        tally = lost(result) if isinstance(result, Lost) else result
        whole.add(tally)
        for failure in tally.failures:
            console.print(failure, markup=False, highlight=False)
    console.print(f"{where}: {whole.summary()}", markup=False, highlight=False)
    return whole


if __name__ == "__main__":
    sys.exit(main())
