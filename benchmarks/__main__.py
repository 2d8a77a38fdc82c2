"""`python -m benchmarks [CASE …]`: measure and print; of all cases, keep RESULTS.md."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from importlib import import_module

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from benchmarks import chart, machine, report
from benchmarks.figures import Figure, UnavailableError
from benchmarks.harness import Harness, Settings
from benchmarks.side import SideFailedError

CASES = (
    "calls",
    "engine",
    "sdk",
    "fifteen",
    "graphs",
    "eager",
    "op_kinds",
    "rows",
    "hessian",
    "planned",
    "memory",
    "checkpoints",
    "loops",
    "forks",
    "small_gradient",
    "guarded",
    "training",
    "million",
    "hundred_megabytes",
    "crowd",
    "durable",
    "starting",
)
QUICK = Settings(rounds=2, seconds=0.02, warm_up=0.02, scale=0.01)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases that are asked for; 1 where a figure couldn't be measured."""
    options = _parser().parse_args(arguments)
    console = Console()
    settings, loads = _settings(options), [os.getloadavg()[0]]
    figures: list[Figure] = []
    for case in options.cases or CASES:
        figures += measure([case], settings, console)
        loads.append(os.getloadavg()[0])
    report.show(console, figures)
    if options.keep and not options.cases:
        page = report.markdown(machine.header(settings.threads, loads[0], max(loads)), figures)
        report.RESULTS.write_text(page)
        console.print(f"kept in {report.RESULTS.relative_to(report.RESULTS.parent.parent)}")
    elif options.renew:
        page = report.renewed(
            report.RESULTS.read_text(), options.cases, loads, figures, machine.kernels()
        )
        report.RESULTS.write_text(page)
    if (options.keep and not options.cases) or options.renew:
        chart.draw(figures)
    return 0 if all(figure.measured for figure in figures) else 1


def measure(cases: Sequence[str], settings: Settings, console: Console) -> list[Figure]:
    """The figures of these cases; where a side is missing, one that says so."""
    found: list[Figure] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        for case in cases:
            task = progress.add_task(case)
            harness = Harness(settings, _ticker(progress, task, case))
            try:
                found += import_module(f"benchmarks.cases.{case}").figures(harness)
            except (UnavailableError, SideFailedError) as problem:
                found.append(Figure(case.replace("_", " "), float("nan"), None, str(problem)))
            progress.update(task, description=case, total=1, completed=1)
    return found


def _ticker(progress: Progress, task: TaskID, case: str) -> Callable[[str], None]:
    return lambda what: progress.update(task, description=f"{case}: {what}")


def _settings(options: argparse.Namespace) -> Settings:
    if options.quick:
        return QUICK
    return Settings(rounds=options.rounds, seconds=options.seconds, threads=options.threads)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--rounds", type=int, default=15, help="turns of each side")
    parser.add_argument("--seconds", type=float, default=0.3, help="length of a turn")
    parser.add_argument(
        "--threads", type=int, default=len(os.sched_getaffinity(0)), help="of OpenBLAS and torch"
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--no-keep", dest="keep", action="store_false", help="leave RESULTS.md")
    parser.add_argument(
        "--renew", action="store_true", help="put these cases into RESULTS.md, which says so"
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
