"""Where values are read for the last time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from gradwire_engine.plan.code import VIEW, Step

END = 1 << 30
"""The place of what is read after all steps."""


class Uses:
    """Where values are read for the last time, by groups of steps in order; views are what they
    show.
    """

    def __init__(self, groups: Sequence[Sequence[Step]], ending: Iterable[int]) -> None:
        self._roots: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self._ending: dict[int, list[int]] = {}
        for place, steps in enumerate(groups):
            for step in steps:
                for n in step.results:
                    if step.kind == VIEW:
                        self._roots[n] = self._root(step.operands[0])
                    else:
                        self.last[n] = place
                for n in step.operands:
                    self.last[self._root(n)] = place
        for n in ending:
            self.last[self._root(n)] = END
        for n, place in self.last.items():
            self._ending.setdefault(place, []).append(n)

    def _root(self, number: int) -> int:
        return self._roots.get(number, number)

    def root_last(self, number: int) -> int:
        """Where a value is read for the last time."""
        return self.last.get(self._root(number), -1)

    def ending(self, place: int) -> Sequence[int]:
        """Values that nobody reads after this place."""
        return self._ending.get(place, ())


def read(steps: Iterable[Step]) -> Counter[int]:
    """How often each value is read by steps."""
    return Counter(n for step in steps for n in step.operands)
