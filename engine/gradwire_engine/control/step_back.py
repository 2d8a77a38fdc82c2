"""One step on the way back, a body itself: so the way back is a scan, and has derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from gradwire_engine.backward import grad_of_moving
from gradwire_engine.control.known import OfLoop
from gradwire_engine.control.rounds import Loop
from gradwire_engine.levels import abandon, fresh
from gradwire_engine.mode import local, using


@dataclass(frozen=True, slots=True)
class StepBack(OfLoop):
    """From cotangents of a step's results to those of its arguments, by running it once more.

    wanted: of the arguments (carries, rows, the rest) those that get a gradient; all carries do
    that can have one. arrived: of what is collected, then of the kept carries, to which gradients
    came. It takes gradients of carries, sums for the rest, then rows: kept carries, the loop's own
    rows, what arrived; then the rest. It gives those gradients, those sums, gradients of rows.
    """

    loop: Loop
    wanted: tuple[bool, ...]
    collected: tuple[bool, ...]
    kept: tuple[bool, ...]

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        carries, slices = self.loop.carries, self.loop.slices
        left = iter(given)
        gradients = _taken(left, sum(self.wanted[:carries]))
        sums = _taken(left, sum(self.wanted[carries + slices :]))
        arguments = _taken(left, carries + slices)
        rows = [next(left) if there else None for there in self.collected]
        kept = [next(left) if there else None for there in self.kept]
        found = self._pulled([*arguments, *left], gradients, rows)
        first, last = len(gradients), len(found) - len(sums)
        own = [k for k, w in zip(kept, self.wanted, strict=False) if w]
        pairs = zip(found[:first], own, strict=True)
        carried = [g if k is None else g + k for g, k in pairs]
        added = [s + g for s, g in zip(sums, found[last:], strict=True)]
        return (*carried, *added, *found[first:last])

    def _pulled(
        self, arguments: Sequence[Any], gradients: Sequence[Any], rows: Sequence[Any]
    ) -> list[Any]:
        recorded = local.state.grad and any(
            v is not None and v.requires_grad for v in (*arguments, *gradients, *rows)
        )
        with using(inference=False, grad=True):
            pairs = zip(arguments, self.wanted, strict=True)
            inside = [fresh(v) if wanted else v for v, wanted in pairs]
            outputs = self.loop.body(*inside)
        asked = [v for v, wanted in zip(inside, self.wanted, strict=True) if wanted]
        arriving = iter(gradients)
        carries = [next(arriving) if w else None for w in self.wanted[: self.loop.carries]]
        given = (*carries, *rows)
        roots = [None if g is None else y for y, g in zip(outputs, given, strict=True)]
        options = {"create_graph": recorded, "materialize_grads": True}
        found = grad_of_moving(roots, asked, given, **options) if asked else []
        for variable in asked:
            abandon(variable)
        return found


def _taken(values: Iterator[Any], count: int) -> list[Any]:
    return list(islice(values, count))
