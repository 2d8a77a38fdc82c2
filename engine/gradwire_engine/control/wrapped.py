"""Loops on what transforms wrap: a body under vmap is a body, one in forward mode another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradwire_engine.batch.layer import examples, layer_at
from gradwire_engine.batch.value import Batched, fronted, is_rows
from gradwire_engine.control.known import OfBody
from gradwire_engine.control.rounds import Loop
from gradwire_engine.dual import Dual, dual, unpacked
from gradwire_engine.levels import entered
from gradwire_engine.mode import using
from gradwire_engine.ops.axes import movedim
from gradwire_engine.reading import zeros
from gradwire_engine.tape import Program

Run = Callable[[Loop, Sequence[Any], int, bool], tuple[list[Any], list[Any]]]


def level_of(values: Sequence[Any]) -> int:
    """The level of the outermost wrapper; 0 where there is none."""
    return max((getattr(v, "level", 0) for v in values), default=0)


def scanned(
    run: Run, loop: Loop, values: Sequence[Any], times: int, reverse: bool
) -> tuple[list[Any], list[Any]]:
    """A scan of which some values are wrapped: of what is inside, by another body."""
    level = level_of(values)
    if any(is_rows(v, level) for v in values):
        return _batched(run, loop, values, times, reverse, level)
    inner, inside = with_tangents(loop, values, level)
    last, found = run(inner, inside, times, reverse)
    pairs = zip(found[::2], found[1::2], strict=True)
    return joined(last, loop.carries, level), [_dual(y, t, level) for y, t in pairs]


# under vmap


@dataclass(frozen=True, slots=True)
class Rows(OfBody):
    """A body for all examples at once. dims: which of its arguments are many, a row for each."""

    body: Program
    size: int
    dims: tuple[bool, ...]
    randomness: str

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        with examples(self.size, self.randomness, self.dims, values) as (level, given):
            return tuple([fronted(y, level, self.size) for y in self.body(*given)])


def _batched(
    run: Run, loop: Loop, values: Sequence[Any], times: int, reverse: bool, level: int
) -> tuple[list[Any], list[Any]]:
    size = next(v.size for v in values if is_rows(v, level))
    layer = layer_at(level)
    carries, end = loop.carries, loop.carries + loop.slices
    dims = tuple(place < carries or is_rows(v, level) for place, v in enumerate(values))
    randomness = "different" if layer is None else layer.randomness
    inner = replace(loop, body=Rows(loop.body, size, dims, randomness))
    with using(vmap=None if layer is None else layer.outer):
        inside = [
            fronted(v, level, size) if many else v for v, many in zip(values, dims, strict=True)
        ]
        for place in range(carries, end):
            if dims[place]:
                inside[place] = movedim(inside[place], (0,), (1,))
        last, found = run(inner, inside, times, reverse)
        found = [movedim(y, (1,), (0,)) for y in found]
    return [Batched(y, level) for y in last], [Batched(y, level) for y in found]


# in forward mode


@dataclass(frozen=True, slots=True)
class Pairs(OfBody):
    """A body on values with tangents. moves: which of its arguments have one; behind each kind of
    argument come the tangents of that kind. Of results every carry that moves has a tangent, and
    everything that is collected.
    """

    body: Program
    carries: int
    slices: int
    moves: tuple[bool, ...]

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        carries, end = self.carries, self.carries + self.slices
        with entered() as level:
            left = iter(values)
            given: list[Any] = []
            for start, stop in ((0, carries), (carries, end), (end, len(self.moves))):
                primals = [next(left) for _ in range(start, stop)]
                moves = self.moves[start:stop]
                given += [
                    dual(p, next(left), level) if moving else p
                    for p, moving in zip(primals, moves, strict=True)
                ]
            pairs = [unpacked(y, level) for y in self.body(*given)]
        whole = [(y, zeros(y.spec) if t is None else t) for y, t in pairs]
        tangents = [t for (_, t), m in zip(whole[:carries], self.moves, strict=False) if m]
        return (
            *[y for y, _ in whole[:carries]],
            *tangents,
            *[v for p in whole[carries:] for v in p],
        )


def with_tangents(loop: Loop, values: Sequence[Any], level: int) -> tuple[Loop, list[Any]]:
    """The loop on pairs, and its values with their tangents behind them."""
    carries, end = loop.carries, loop.carries + loop.slices
    pairs = [unpacked(v, level) for v in values]
    for place in range(carries):
        primal, tangent = pairs[place]
        if tangent is None and primal.dtype.differentiable:
            pairs[place] = primal, zeros(primal.spec)
    moves = tuple(t is not None for _, t in pairs)
    inside: list[Any] = []
    for start, stop in ((0, carries), (carries, end), (end, len(pairs))):
        inside += [p for p, _ in pairs[start:stop]]
        inside += [t for _, t in pairs[start:stop] if t is not None]
    inner = replace(
        loop,
        body=Pairs(loop.body, carries, loop.slices, moves),
        carries=carries + sum(moves[:carries]),
        slices=loop.slices + sum(moves[carries:end]),
    )
    return inner, inside


def joined(last: Sequence[Any], carries: int, level: int) -> list[Any]:
    """Carries with their tangents, which stand behind them."""
    tangents = iter(last[carries:])
    return [
        _dual(y, next(tangents), level) if y.dtype.differentiable else y for y in last[:carries]
    ]


def _dual(y: Any, t: Any, level: int) -> Any:
    return Dual(y, t, level) if y.dtype.differentiable else y
