"""Checkpoints in a scan: a scan of scans, which keeps carries between segments only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

from gradwire_engine.control.known import OfLoop
from gradwire_engine.control.rounds import Loop
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.join import cat
from gradwire_engine.ops.views import slice_

Run = Callable[[Loop, Sequence[Any], int, bool], tuple[list[Any], list[Any]]]


@dataclass(frozen=True, slots=True)
class Segment(OfLoop):
    """So many steps as one."""

    run: Run
    loop: Loop
    times: int
    reverse: bool

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        carries, collected = self.run(self.loop, values, self.times, self.reverse)
        return (*carries, *collected)


def in_segments(
    run: Run,
    loop: Loop,
    init: Sequence[Any],
    xs: Sequence[Any],
    args: Sequence[Any],
    times: int,
    reverse: bool,
) -> tuple[list[Any], list[Any]]:
    """A scan that keeps a square root of its carries. What is left over ends the rows."""
    size = isqrt(times)
    count = times // size
    whole = count * size
    outer = replace(loop, body=Segment(run, loop, size, reverse))

    def main(carry: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        rows = [reshape(slice_(x, 0, 0, whole), (count, size, *x.shape[1:])) for x in xs]
        last, found = run(outer, (*carry, *rows, *args), count, reverse)
        return last, [reshape(y, (whole, *y.shape[2:])) for y in found]

    def left(carry: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        rows = [slice_(x, 0, whole, times) for x in xs]
        return run(loop, (*carry, *rows, *args), times - whole, reverse)

    if whole == times:
        return main(init)
    carry, first = (left if reverse else main)(init)
    carry, second = (main if reverse else left)(carry)
    pairs = zip(second, first, strict=True) if reverse else zip(first, second, strict=True)
    return carry, [cat((a, b), 0) for a, b in pairs]
