"""The table of figures: on the terminal, and in RESULTS.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.figures import Figure

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
_HEAD = "| figure | to reach | measured | verdict | what it comes from |"
_STYLES = {"reached": "green", "short": "red", "not measured": "yellow", "to compare": "dim"}


def show(console: Console, figures: Sequence[Figure]) -> None:
    """Print the table."""
    table = Table("figure", "to reach", "measured", "verdict", show_lines=True)
    for figure in figures:
        table.add_row(
            f"{escape(figure.name)}\n[dim]{escape(figure.note)}[/dim]", figure.wanted,
            _measured(figure), figure.verdict,
            style=_STYLES[figure.verdict],
        )  # fmt: skip
    console.print(table)


def markdown(header: Sequence[str], figures: Sequence[Figure]) -> str:
    """The table as a page, with the notes that the terminal has no room for."""
    lines = [
        "# What it costs",
        "",
        "`make bench` wrote this. Every figure is a ratio from one run: both sides in fresh",
        "processes, taking turns, warmed up. Measured is the median over the rounds, with the",
        "quartiles.",
        "",
        *(f"- {line}" for line in header),
        "",
        _HEAD,
        "|---|---|---|---|---|",
        *(_row(figure) for figure in figures),
        "",
    ]
    return "\n".join(lines)


def renewed(
    page: str,
    cases: Sequence[str],
    loads: Sequence[float],
    figures: Sequence[Figure],
    more: Sequence[str] = (),
) -> str:
    """The page with these cases' rows as they were measured in a later run, and a line about it.

    more: what else is to be said of that run.
    """
    rows = {_name(row): row for row in map(_row, figures)}
    lines = [rows.pop(_name(line), line) for line in page.splitlines()]
    about = (
        f"- Measured again later, by themselves: {', '.join(cases)} "
        f"(load before {loads[0]:.1f}, at most {max(loads):.1f})."
    )
    about = " ".join([about, *more])
    top = lines.index(_HEAD) - 1
    return "\n".join([*lines[:top], about, *lines[top:], *rows.values(), ""])


def _name(row: str) -> str:
    return row.partition(" | ")[0]


def _row(figure: Figure) -> str:
    cells = (figure.name, figure.wanted, _measured(figure), figure.verdict, figure.note)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _measured(figure: Figure) -> str:
    if figure.measured is None:
        return "–"
    spread = figure.measured
    return f"{spread.middle:.3g} ({spread.low:.3g} to {spread.high:.3g})"
