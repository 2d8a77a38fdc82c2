"""The differential tester at full size: python -m tests.parity.differential [--seed N]."""

from __future__ import annotations

import argparse
import itertools
import os
import secrets
import sys
from collections import deque
from functools import partial

from rich.console import Console
from rich.progress import Progress
from tests.clients.serving import serving
from tests.parity.differential.campaign import Tally, lost, on_torch_alone, one, seeds_from
from tests.parity.workers import Lost, each

EMBEDDED, OVER_HTTP = 3000, 300


def main() -> int:
    """Run programs embedded, then over HTTP; 1 if any differed, or what came up is too little."""
    asked = _arguments()
    console = Console()
    console.print(f"seed {asked.seed}")
    embedded = _shown("embedded", asked, asked.seed, asked.embedded, None)
    with serving("--log", "none") as url:
        over_http = _shown("over HTTP", asked, asked.seed + 1, asked.http, url)
    return 0 if embedded.holds() and over_http.holds() else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="of a run")
    parser.add_argument("--embedded", type=int, default=EMBEDDED, help="programs embedded")
    parser.add_argument("--http", type=int, default=OVER_HTTP, help="programs over HTTP")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    return parser.parse_args()


def _shown(where: str, asked: argparse.Namespace, seed: int, count: int, url: str | None) -> Tally:
    """Run programs and tell of them; another one in the place of each on which torch crashes."""
    whole = Tally()
    programs = seeds_from(seed, count)
    seeds, others = deque(programs), itertools.count(programs.stop)
    with Progress() as progress:
        bar = progress.add_task(where, total=count)
        for result in each(partial(one, url=url), seeds, asked.workers):
            tally = lost(result, _torch_again) if isinstance(result, Lost) else result
            whole.add(tally)
            for told in (*tally.failures, *tally.crashes):
                _say(progress.console, told)
            progress.advance(bar, tally.programs)
            if tally.crashes and not whole.crashes_too_often(count):
                seeds.append(next(others))
    _say(progress.console, f"\n{where}: {whole.summary()}\n")
    return whole


def _torch_again(seed: int) -> Lost | None:
    """How torch alone ends on the program of a seed, in a process of its own."""
    found = next(each(on_torch_alone, deque([seed]), 1))
    return found if isinstance(found, Lost) else None


def _say(console: Console, text: str) -> None:
    """Print text as it is: programs are to be copied, and [::2] is no picture."""
    console.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
