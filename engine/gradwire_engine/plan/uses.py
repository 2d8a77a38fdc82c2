"""Where values are read for the last time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from gradwire_engine.plan.code import VIEW, Step

END = 1 << 30
"""The place of what is read after all steps."""


Use = tuple[Sequence[int], Sequence[int], bool]
"""What is read, what is made, and whether that is the first of what is read, seen otherwise."""


def of_steps(steps: Iterable[Step]) -> list[Use]:
    """The uses by steps."""
    return [(step.operands, step.results, step.kind == VIEW) for step in steps]


class Uses:
    """Where values are read for the last time, by groups of uses in order; views are what they
    show.
    """

    def __init__(self, groups: Iterable[Iterable[Use]], ending: Iterable[int]) -> None:
        self._roots: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self._ending: dict[int, list[int]] = {}
        self._views: dict[int, list[int]] = {}
        for place, uses in enumerate(groups):
            for reads, makes, seen in uses:
                if seen:
                    self._roots |= dict.fromkeys(makes, self._root(reads[0]))
                else:
                    self.last |= dict.fromkeys(makes, place)
                self.last |= dict.fromkeys(map(self._root, reads), place)
        self.last |= dict.fromkeys(map(self._root, ending), END)
        for n, place in self.last.items():
            self._ending.setdefault(place, []).append(n)
        for n, root in self._roots.items():
            self._views.setdefault(self.last[root], []).append(n)

    def _root(self, number: int) -> int:
        return self._roots.get(number, number)

    def ending(self, place: int) -> Sequence[int]:
        """Values that nobody reads after this place; no views."""
        return self._ending.get(place, ())

    def views_ending(self, place: int) -> Sequence[int]:
        """Views of these values."""
        return self._views.get(place, ())


def readers(reads: Iterable[Sequence[int]]) -> dict[int, list[int]]:
    """For each value the places of those that read it, in order, each once."""
    found: dict[int, list[int]] = {}
    for place, numbers in enumerate(reads):
        for number in dict.fromkeys(numbers):
            found.setdefault(number, []).append(place)
    return found


def read(steps: Iterable[Step]) -> Counter[int]:
    """How often each value is read by steps."""
    return Counter(n for step in steps for n in step.operands)
