"""while_loop on what transforms wrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradwire_engine.batch.layer import examples, layer_at
from gradwire_engine.batch.value import Batched, fronted, is_rows
from gradwire_engine.catalogue import resolve
from gradwire_engine.control.known import OfBody
from gradwire_engine.control.rounds import Loop
from gradwire_engine.control.wrapped import (
    joined,
    level_of,
    with_tangents,
)
from gradwire_engine.mode import using
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.expand import reshape
from gradwire_engine.tape import Program

Run = Callable[[Program, Loop, Sequence[Any], int | None], list[Any]]


def looped(
    run: Run, cond_fn: Program, loop: Loop, values: Sequence[Any], bound: int | None
) -> list[Any]:
    """A loop of which some values are wrapped: of what is inside, by other programs."""
    level = level_of(values)
    if any(is_rows(v, level) for v in values):
        return _batched(run, cond_fn, loop, values, bound, level)
    inner, inside = with_tangents(loop, values, level)
    primals = Primals(cond_fn, loop.carries, inner.carries, len(values) - loop.carries)
    return joined(run(primals, inner, inside, bound), loop.carries, level)


@dataclass(frozen=True, slots=True)
class Primals:
    """A condition on values with tangents: they do not matter to it."""

    cond: Program
    carries: int
    pairs: int
    rest: int

    @property
    def id(self) -> str:
        """The condition's."""
        return self.cond.id

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        return self.cond(*values[: self.carries], *values[self.pairs : self.pairs + self.rest])


@dataclass(frozen=True, slots=True)
class Masked(OfBody):
    """A condition and a body for all examples at once. An example that has ended stays as it is.

    steps: whether it is the body; else it is the condition, which holds if it does for any.
    """

    cond: Program
    body: Program
    size: int
    carries: int
    dims: tuple[bool, ...]
    randomness: str
    steps: bool

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        with examples(self.size, self.randomness, self.dims, values) as (level, given):
            goes_on = reshape(self.cond(*given)[0], ())
            if not self.steps:
                return (resolve("any")(fronted(goes_on, level, self.size)),)
            stepped = zip(self.body(*given), given[: self.carries], strict=True)
            found = [where(goes_on, new, old) for new, old in stepped]
            return tuple([fronted(y, level, self.size) for y in found])


def _batched(
    run: Run,
    cond_fn: Program,
    loop: Loop,
    values: Sequence[Any],
    bound: int | None,
    level: int,
) -> list[Any]:
    size = next(v.size for v in values if is_rows(v, level))
    layer = layer_at(level)
    dims = tuple(place < loop.carries or is_rows(v, level) for place, v in enumerate(values))
    randomness = "different" if layer is None else layer.randomness
    masked = Masked(cond_fn, loop.body, size, loop.carries, dims, randomness, True)
    with using(vmap=None if layer is None else layer.outer):
        pairs = zip(values, dims, strict=True)
        inside = [fronted(v, level, size) if many else v for v, many in pairs]
        inner = replace(loop, body=masked)
        last = run(replace(masked, steps=False), inner, inside, bound)
    return [Batched(y, level) for y in last]
