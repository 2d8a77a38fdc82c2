"""Version counters: compared by what is added to them, wherever torch's start; names of gradients.

What torch writes inside an op or a walk while it makes a new tensor shows in the tensor's
`_version`: `vector @ matrix` begins at 1. From then on each write counts in both libraries. What
nodes a gradient's own history has is each library's affair: it shows in no derivative.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.parity.differential.observe import Seen, Sight
from tests.parity.differential.step import WALKS, Step, references


class Starts:
    """For each name how much further torch's counter was when the name was given."""

    def __init__(self) -> None:
        self._ahead: dict[str, int] = {}
        self._gradients: set[str] = set()

    def level(self, step: Step, theirs: Mapping[str, Sight], ours: Mapping[str, Sight]) -> None:
        """Subtract what torch's counters are ahead; names new in this step learn it now."""
        of_gradient = step.kind in WALKS or step.name == "grad"
        self._gradients |= set(step.out) if of_gradient else set()
        passed_on = {self._ahead.get(name, 0) for name in references(step)} | {0}
        for name, seen in theirs.items():
            other = ours.get(name)
            if not isinstance(seen, Seen) or not isinstance(other, Seen):
                continue
            if name in self._gradients:
                seen.grad_fn = other.grad_fn
            if seen.version is None or not isinstance(other.version, int):
                continue
            if name in step.out:
                ahead = seen.version - other.version
                fresh = of_gradient or not other.version
                self._ahead[name] = ahead if fresh or ahead in passed_on else 0
            seen.version -= self._ahead.get(name, 0)
