"""`make fuzz`: a million inputs for the decoders, requests out of OpenAPI, sessions and a model."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from secrets import randbits

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
           TimeRemainingColumn())  # fmt: skip
_AT_ONCE = 2
"""Decoders that are fuzzed side by side."""


def main() -> None:
    """Run what was asked for; exit with 1 where something was found."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("what", nargs="*", default=[*_WHAT], help=", ".join(_WHAT))
    parser.add_argument("--seed", type=int, default=randbits(31), help="to repeat a run")
    parser.add_argument("--inputs", type=int, default=1_050_000, help="for all decoders together")
    parser.add_argument("--examples", type=int, default=50, help="requests of each operation")
    parser.add_argument("--chains", type=int, default=400, help="chains of calls of sessions")
    asked = parser.parse_args()
    if strange := [name for name in asked.what if name not in _WHAT]:
        parser.error(f"{strange[0]} is none of {', '.join(_WHAT)}")
    console = Console()
    console.print(f"seed {asked.seed}")
    found = [name for name in asked.what if not _WHAT[name](asked, console)]
    sys.exit(1 if found else 0)


def _decoders(asked: argparse.Namespace, console: Console) -> bool:
    """Each decoder in a process of its own; whether none was broken."""
    from tests.fuzz.decoders.campaign import NAMES, Broken, fuzz

    each, done, broken = -(-asked.inputs // len(NAMES)), 0, False
    with (
        Progress(*COLUMNS, console=console) as progress,
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(_AT_ONCE) as pool,
    ):
        runs = {
            name: pool.submit(
                fuzz, name, each, asked.seed, Path(folder), _bar(progress, name, each)
            )
            for name in NAMES
        }
        for name, run in runs.items():
            try:
                inputs, edges = run.result()
            except Broken as found:
                console.print(str(found), markup=False)
                broken = True
            else:
                console.print(f"{name}: {inputs} inputs reached {edges} edges of the code")
                done += inputs
    console.print(f"decoders: {done} inputs{'' if not broken else ', and some that break them'}")
    return not broken


def _bar(progress: Progress, name: str, total: int) -> Callable[[int], None]:
    return partial(progress.advance, progress.add_task(name, total=total))


def _schema(asked: argparse.Namespace, console: Console) -> bool:
    """schemathesis, which says itself what it finds."""
    from tests.fuzz.schema.campaign import Broken, fuzz
    from tests.fuzz.watched import Harmed

    try:
        requests, operations = fuzz(asked.seed, asked.examples, shown=True)
    except (Broken, Harmed) as found:
        console.print(f"schema: {type(found).__name__}: {str(found)[-2000:]}", markup=False)
        return False
    console.print(f"schema: {requests} requests of {operations} operations, all as documented")
    return True


def _sessions(asked: argparse.Namespace, console: Console) -> bool:
    """Sessions beside a model of them."""
    from tests.fuzz.sessions.campaign import Unlike, fuzz
    from tests.fuzz.watched import Harmed

    with Progress(*COLUMNS, console=console) as progress:
        try:
            found = fuzz(asked.seed, asked.chains, _bar(progress, "sessions", asked.chains), True)
        except (Unlike, Harmed) as raised:
            console.print(f"sessions: {raised}", markup=False)
            return False
    console.print(
        f"sessions: {found.calls} calls in {asked.chains} chains, {found.codes.total()} of them "
        f"refused with {len(found.codes)} codes, all as in the model"
    )
    return True


_WHAT: dict[str, Callable[[argparse.Namespace, Console], bool]] = {
    "decoders": _decoders,
    "schema": _schema,
    "sessions": _sessions,
}

if __name__ == "__main__":
    main()
