"""A figure to reach, what was measured, and whether it was reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.harness import Harness, Spread


@dataclass(frozen=True)
class Figure:
    """One line of the table; `measured` is None where it couldn't be, and `note` says why.

    limit: what is to be reached; None where the line is there to compare.
    """

    name: str
    limit: float | None
    measured: Spread | None
    note: str = ""
    at_least: bool = False

    @property
    def wanted(self) -> str:
        """The figure to reach, as in "≤ 1.5"."""
        if self.limit is None:
            return "–"
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}"

    @property
    def verdict(self) -> str:
        """One of the words reached, short, not measured, to compare."""
        if self.measured is None:
            return "not measured"
        if self.limit is None:
            return "to compare"
        middle = self.measured.middle
        reached = middle >= self.limit if self.at_least else middle <= self.limit
        return "reached" if reached else "short"


Case = Callable[[Harness], Sequence[Figure]]


class UnavailableError(Exception):
    """A side that isn't there: the message says which and how to get it."""


def duration(seconds: float) -> str:
    """A time with a fitting unit: "1.2 µs"."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
