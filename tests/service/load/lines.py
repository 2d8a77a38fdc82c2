"""What a run has to show: a line for each promise, and the table that they make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rich.table import Table


class Line(NamedTuple):
    """A promise: what was found, what it must be, whether it is.

    timed: it is about durations, which say nothing on a machine that has other work, or in a run
    of seconds.
    """

    what: str
    found: str
    bound: str
    good: bool
    timed: bool = False


def least(what: str, found: float, bound: float, unit: str = "", *, timed: bool = False) -> Line:
    """A figure that has to be so large."""
    return Line(what, f"{found:,.4g}{unit}", f"≥ {bound:,.4g}{unit}", found >= bound, timed)


def most(what: str, found: float, bound: float, unit: str = "", *, timed: bool = False) -> Line:
    """A figure that may be so large."""
    return Line(what, f"{found:,.4g}{unit}", f"≤ {bound:,.4g}{unit}", found <= bound, timed)


def none(what: str, found: Iterable[object]) -> Line:
    """Things that there may not be; a few of them are shown."""
    listed = list(found)
    shown = "; ".join(map(str, listed[:3]))
    return Line(what, f"{len(listed)}: {shown}" if listed else "none", "none", not listed)


def table(lines: Iterable[Line]) -> Table:
    """All lines, those that fail in red."""
    made = Table("what", "found", "must be", "")
    for line in lines:
        style = None if line.good else "bold red"
        made.add_row(line.what, line.found, line.bound, "ok" if line.good else "FAILS", style=style)
    return made
