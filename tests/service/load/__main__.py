"""`make load`: twice the load for two minutes, 10,000 sessions that lie idle, 100,000 that go."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from secrets import randbits

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from tests.service.load import held
from tests.service.load.flood import flood
from tests.service.load.lines import Line, table
from tests.service.load.server import cores

COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
           TimeRemainingColumn())  # fmt: skip
_WAVE = 2000


def main() -> None:
    """Run what was asked for; exit with 1 where a line doesn't hold."""
    parser = argparse.ArgumentParser(prog="make load", description=__doc__)
    parser.add_argument("what", nargs="*", default=[*_WHAT], help=", ".join(_WHAT))
    parser.add_argument("--seconds", type=float, default=120, help="of the load")
    parser.add_argument("--idle", type=int, default=10_000, help="sessions that lie there")
    parser.add_argument("--cycles", type=int, default=100_000, help="sessions that come and go")
    parser.add_argument("--seed", type=int, default=randbits(31), help="to repeat a run")
    asked = parser.parse_args()
    if strange := [name for name in asked.what if name not in _WHAT]:
        parser.error(f"{strange[0]} is none of {', '.join(_WHAT)}")
    console = Console()
    console.print(f"seed {asked.seed}")
    if cores() is None:
        console.print("[bold red]one core for all: what is about time says nothing")
    with Progress(*COLUMNS, console=console) as progress:
        lines = [line for name in asked.what for line in _part(name, asked, progress)]
    console.print(table(lines))
    sys.exit(not all(line.good for line in lines))


def _part(name: str, asked: argparse.Namespace, progress: Progress) -> list[Line]:
    began = time.monotonic()
    lines = _WHAT[name](asked, progress)
    if not progress.console.is_terminal:  # where no bar can be drawn
        failed = [f"; FAILS: {line.what}, {line.found}" for line in lines if not line.good]
        progress.console.print(f"{name}: {time.monotonic() - began:.0f} s{''.join(failed)}")
    return lines


def _flood(asked: argparse.Namespace, progress: Progress) -> list[Line]:
    # what comes before the load takes a quarter each of what that takes
    task = progress.add_task("load", total=round(2 * asked.seconds))

    def tick(what: str, seconds: float) -> None:
        progress.update(task, advance=seconds, description=what)

    return flood(asked.seconds, asked.seed, tick)


def _idle(asked: argparse.Namespace, progress: Progress) -> list[Line]:
    return held.idle(asked.idle, _bar(progress, "idle sessions", asked.idle))


def _cycles(asked: argparse.Namespace, progress: Progress) -> list[Line]:
    wave = min(_WAVE, max(1, asked.cycles // 8))
    return held.cycles(asked.cycles, wave, _bar(progress, "cycles", asked.cycles))


def _bar(progress: Progress, name: str, total: int) -> Callable[[], object]:
    return partial(progress.advance, progress.add_task(name, total=total))


_WHAT: dict[str, Callable[[argparse.Namespace, Progress], list[Line]]] = {
    "flood": _flood,
    "idle": _idle,
    "cycles": _cycles,
}

if __name__ == "__main__":
    main()
