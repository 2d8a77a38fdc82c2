"""scan: a body over rows, from step to step with carries, as one node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradwire_engine import function
from gradwire_engine.control import wrapped
from gradwire_engine.control.known import OfLoop
from gradwire_engine.control.outlined import outlined, outlining
from gradwire_engine.control.rounds import Loop, Rounds, looked_at, refuse_symbols
from gradwire_engine.control.seeded import seeded
from gradwire_engine.control.segments import in_segments
from gradwire_engine.control.step_back import StepBack
from gradwire_engine.errors import error
from gradwire_engine.function import Made
from gradwire_engine.function_rule import Function
from gradwire_engine.mode import local
from gradwire_engine.reading import zeros
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.tape import Program

Results = tuple[list[Any], list[Any]]
"""The last carries, and what was collected: a row for each step."""


def scan(
    body: Program,
    init: Sequence[Any],
    xs: Sequence[Any] = (),
    args: Sequence[Any] = (),
    *,
    length: int | None = None,
    reverse: bool = False,
    checkpoint: bool = False,
) -> Results:
    """Run a body once for each row of `xs`, from step to step with carries.

    body: from carries, a row of each of `xs` and `args` to the new carries, and behind them what
    is collected. length: how many steps; may be left out where there are rows. reverse: from the
    last row to the first; rows that are collected stand where the step's own rows stood.
    checkpoint: keep carries at the roots of segments only, a square root of all, and run each
    segment again on the way back.
    """
    init, xs, args = list(init), list(xs), list(args)
    times = _times(xs, length)
    loop = Loop(body, len(init), len(xs))
    loop, xs = seeded(loop, init, xs, args, times)
    if checkpoint and times > 3:
        return in_segments(run, loop, init, xs, args, times, reverse)
    return run(loop, (*init, *xs, *args), times, reverse)


def _times(xs: Sequence[Any], length: int | None) -> int:
    """The number of steps, once all agree."""
    for place, rows in enumerate(xs):
        if not rows.ndim:
            raise error(
                "shape_mismatch",
                f"scan: xs {place} has no axis of rows, its shape is []",
                "give it one, or pass it with args",
            )
    counts = {int(rows.shape[0]) for rows in xs}
    counts |= set() if length is None else {length}
    if len(counts) != 1 or min(counts) < 0:
        said = "" if length is None else f", and length is {length}"
        raise error(
            "shape_mismatch" if xs else "invalid_argument",
            f"scan: xs have {', '.join(str(r.shape[0]) for r in xs) or 'no'} rows{said}",
            "all have as many rows as there are steps; without any, give length",
        )
    return counts.pop()


def run(loop: Loop, values: Sequence[Any], times: int, reverse: bool) -> Results:
    """A scan of these values: carries, rows, the rest."""
    if any(type(v) in VALUE_TYPES and v.level for v in values if hasattr(v, "level")):
        return wrapped.scanned(run, loop, values, times, reverse)
    refuse_symbols(loop.asked, values)
    if not outlining(values):
        looked_at(loop, values)
    needs = local.state.grad and any(v.requires_grad for v in values)
    count = 0

    def forward(*given: Any) -> Made:
        nonlocal count
        if outlining(given):
            made, stacks = outlined(loop, given, times, needs)
        else:
            with Rounds(loop, given, times, needs) as rounds:
                rounds.all(reverse)
                made, stacks = rounds.results()
        count = len(made)
        return node("Scan", loop, given, made, stacks, times, reverse)

    found = function.apply(forward, values)[: count or None]
    return found[: loop.carries], found[loop.carries :]


def node(
    name: str,
    loop: Loop,
    given: Sequence[Any],
    made: Sequence[Any],
    stacks: Sequence[Any],
    times: int,
    reverse: bool,
) -> Made:
    """What a custom function gives: results, and the kept carries as further ones.

    These are results since they were made of the arguments: a derivative of the way back needs to
    know of what.
    """
    wants = tuple(
        v.dtype.differentiable and (place < loop.carries or v.requires_grad)
        for place, v in enumerate(given)
    )
    way_back = WayBack(loop, wants, len(made) - loop.carries, times, reverse)
    fixed = [y for y in (*made, *stacks) if not y.dtype.differentiable]
    saved = [*stacks, *given[loop.carries :]]
    return Made(Function(name, way_back, False), [*made, *stacks], saved, fixed)


@dataclass(frozen=True, slots=True)
class WayBack(OfLoop):
    """The rule of a scan's node: a scan in the other direction.

    wanted: arguments that get a gradient, and all carries that can have one. collected: how many
    results are rows.
    """

    loop: Loop
    wanted: tuple[bool, ...]
    collected: int
    times: int
    reverse: bool

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        carries, slices = self.loop.carries, self.loop.slices
        count = len(self.wanted)
        stacks, rest = given[:carries], given[carries + slices : count]
        gradients = given[count:]
        ending, arriving = gradients[:carries], gradients[carries:]
        moving = [place for place in range(carries) if self.wanted[place]]
        begun = [_begun(ending[place], stacks[place]) for place in moving]
        asked = self.wanted[carries + slices :]
        sums = [zeros(v.spec) for v, wanted in zip(rest, asked, strict=True) if wanted]
        there = tuple([g is not None for g in arriving])
        body = StepBack(self.loop, self.wanted, there[: self.collected], there[self.collected :])
        rows = [*given[: carries + slices], *[g for g in arriving if g is not None]]
        back = Loop(body, len(begun) + len(sums), len(rows), self.loop.asked)
        found = run(back, (*begun, *sums, *rows, *rest), self.times, not self.reverse)
        first, gathered = found[0][: len(moving)], iter((*found[1], *found[0][len(moving) :]))
        firsts = dict(zip(moving, first, strict=True))
        return (
            *[firsts.get(place) for place in range(carries)],
            *[next(gathered) if wanted else None for wanted in self.wanted[carries:]],
        )


def _begun(g: Any, stack: Any) -> Any:
    """The gradient of a last carry, zeros where none came."""
    spec = stack.spec
    return zeros(spec.with_(shape=spec.shape[1:])) if g is None else g
