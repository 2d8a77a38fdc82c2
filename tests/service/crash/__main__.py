"""`make crash`: kill a server two hundred times, on SQLite and where it is installed PostgreSQL."""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from itertools import count
from secrets import randbits

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from tests.service.crash.campaign import run
from tests.service.crash.postgres import initdb, postgres

COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
           TimeRemainingColumn())  # fmt: skip
_SAID = 25
"""Kills between lines, where no bar can be drawn."""


def main() -> None:
    """Run the campaigns and say what they counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="how often on each database")
    parser.add_argument("--seed", type=int, default=randbits(32), help="to repeat a campaign")
    asked = parser.parse_args()
    console = Console()
    console.print(f"seed {asked.seed}")
    with Progress(*COLUMNS, console=console) as progress, tempfile.TemporaryDirectory() as folder:
        _campaign(progress, "SQLite", folder, asked)
        if initdb() is None:
            console.print("[bold red]PostgreSQL: NOT TESTED, initdb isn't installed")
            return
        with postgres() as server:
            _campaign(progress, "PostgreSQL", server.database(), asked)


def _campaign(progress: Progress, name: str, data: str, asked: argparse.Namespace) -> None:
    task = progress.add_task(name, total=asked.kills)
    done = count(1)

    def tick() -> None:
        progress.advance(task)
        if (number := next(done)) % _SAID == 0 and not progress.console.is_terminal:
            progress.console.print(f"{name}: {number} of {asked.kills} kills")

    counts: Counter[str] = run(data, asked.kills, asked.seed, tick)
    said = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    progress.console.print(f"{name}: {said}; nothing lost, nothing half there")


if __name__ == "__main__":
    main()
