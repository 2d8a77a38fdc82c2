"""A body run step by step on arrays: by its plan where it has one, else op by op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gradwire_engine.arrays import Array, backend
from gradwire_engine.control.chunked import borrowed, given_back
from gradwire_engine.control.known import Clock, Known, apart, known, need_values, planned
from gradwire_engine.errors import error
from gradwire_engine.mode import charge, local
from gradwire_engine.plan import UntraceableError
from gradwire_engine.plan.chunk import Chunk
from gradwire_engine.spec import Spec
from gradwire_engine.symbol import SYMBOLIC, takes_loops
from gradwire_engine.tape import Program
from gradwire_engine.tensor import Tensor

FAILED = (ArithmeticError, LookupError, ValueError, TypeError, np.linalg.LinAlgError)
"""What kernels raise, by NumPy's names."""
_SLOW = 2**21
"""Bytes of a plan's step from which on the clock is looked at within it."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A body, and how it is called: with carries, a row of each of the slices, and the rest.

    It gives the new carries, and behind them what is collected. asked: what errors call it.
    """

    body: Program
    carries: int
    slices: int
    asked: str = "scan"

    def rows(self, values: Sequence[Any]) -> list[Any]:
        """Stand-ins for the arguments of one step."""
        end = self.carries + self.slices
        return [
            _Like(v.spec.with_(shape=v.spec.shape[1:])) if self.carries <= place < end else v
            for place, v in enumerate(values)
        ]

    def names(self, count: int) -> list[str]:
        """What these many arguments of a step are called: `carry.0`, `xs.0`, `args.0`."""
        rest = count - self.carries - self.slices
        kinds = ("carry", self.carries), ("xs", self.slices), ("args", rest)
        return [f"{kind}.{place}" for kind, many in kinds for place in range(many)]

    def results(self, count: int) -> list[str]:
        """What these many results of a step are called: `carry.0`, `ys.0`."""
        kinds = ("carry", self.carries), ("ys", count - self.carries)
        return [f"{kind}.{place}" for kind, many in kinds for place in range(many)]

    def check(self, before: Sequence[Spec], after: Sequence[Spec]) -> None:
        """Refuse a step that does not give its carries as they came."""
        if len(after) < self.carries:
            raise error(
                "invalid_argument",
                f"{self.asked}: the body gives {len(after)} results, and has {self.carries} "
                "carries",
                "give the new carries first, one for each",
            )
        for place, (old, new) in enumerate(zip(before, after, strict=False)):
            if place < self.carries and (old.shape, old.dtype) != (new.shape, new.dtype):
                raise error(
                    "shape_mismatch" if old.shape != new.shape else "dtype_mismatch",
                    f"{self.asked}: carry {place} goes into a step as {old} and comes out as {new}",
                    "a carry keeps its shape and dtype from step to step; begin with what it will "
                    f"be, {new}: a literal may say its dtype, "
                    f'{{"dtype": "{new.dtype.name}", "data": …}}',
                )


@dataclass(frozen=True, slots=True)
class _Like:
    spec: Spec


def looked_at(loop: Loop, values: Sequence[Any]) -> Known:
    """What is known of a loop's body; carries that change are refused."""
    refuse_symbols(loop.asked, values)
    rows = loop.rows(values)
    found = known(loop.body, rows)
    if found.outputs is not None:
        loop.check([row.spec for row in rows], found.outputs)
    return found


def refuse_symbols(asked: str, values: Sequence[Any]) -> None:
    """A loop is no part of a larger plan: it has its own. A trace may be told of it, though."""
    if not takes_loops() and any(value.spec.device == SYMBOLIC for value in values):
        raise UntraceableError(f"{asked} is planned by itself")


class Step:
    """What does one step, from arrays to arrays. outputs: specs of what it gives, once known."""

    def __init__(self, loop: Loop, found: Known, times: int) -> None:
        self._loop, self._specs, self.outputs = loop, found.specs, found.outputs
        self._meter = local.state.meter
        plan = planned(found, times)
        self._plan, self._run = plan, None if plan is None else plan.run
        self._between = None
        if plan is not None:
            charge(plan.nbytes)
            self._between = Clock(self._meter).tick if plan.nbytes > _SLOW else None

    def note(self, times: int) -> None:
        """Have the meter count the work of so many steps; ops that run one by one say it then."""
        if self._plan is not None:
            charge(0, self._plan.flops * times, self._plan.ops * times)

    def __call__(self, arrays: list[Array]) -> Sequence[Array]:
        """Do it, by the plan if there is one."""
        if self._run is None:
            return self._by_ops(arrays)
        try:
            return self._run(arrays, self._between)
        except FAILED:
            return self._by_ops(arrays)  # which says what is wrong

    def _by_ops(self, arrays: list[Array]) -> Sequence[Array]:
        with apart(self._meter):
            tensors = [Tensor(a, spec, None) for a, spec in zip(arrays, self._specs, strict=True)]
            outputs = need_values(self._loop.body(*tensors))
        after = tuple([y.spec for y in outputs])
        if self.outputs is None:
            self._loop.check(self._specs, after)
            self.outputs = after
        elif after != self.outputs:
            raise error(
                "data_dependent_shape",
                f"{self._loop.asked}: one step gives {_listed(self.outputs)}, another "
                f"{_listed(after)}",
                "every step has to give the same shapes and dtypes",
            )
        return [y.array for y in outputs]


def _listed(specs: Sequence[Spec]) -> str:
    return ", ".join(map(str, specs))


class Running:
    """A loop as it runs on arrays: the carries now, rows and the rest. A context, within which the
    meter knows of what is held.
    """

    def __init__(self, loop: Loop, values: Sequence[Tensor]) -> None:
        self._loop = loop
        self.device = values[0].device if values else local.state.device
        self._library = backend(self.device).xp
        arrays = [self._library.ascontiguousarray(v.array) if v.shape else v.array for v in values]
        end = loop.carries + loop.slices
        self.carry: list[Array] = arrays[: loop.carries]
        self._rows, self._rest = arrays[loop.carries : end], arrays[end:]
        self._held: dict[str, Tensor] = {}
        self._tick = Clock(local.state.meter).tick

    def __enter__(self) -> Self:
        frames = getattr(local.state.meter, "frames", None)
        if frames is not None:
            frames.append(self._held)
        return self

    def __exit__(self, *exc: object) -> None:
        frames = getattr(local.state.meter, "frames", None)
        if frames is not None:
            frames.pop()


class Rounds(Running):
    """So many steps of a loop, and what was collected.

    keep: whether the carries that went into each step are kept: `stacks`, as `collected` an array
    each with a row for each step.
    """

    def __init__(self, loop: Loop, values: Sequence[Tensor], times: int, keep: bool) -> None:
        super().__init__(loop, values)
        self._times = times
        self._found = looked_at(loop, values)
        self._step = Step(loop, self._found, times)
        self._step.note(times)
        self.stacks = [self._empty(v.spec) for v in values[: loop.carries]] if keep else []
        self.collected: list[Array] | None = None
        self._begin()

    def _empty(self, spec: Spec) -> Array:
        spec = spec.with_(shape=(self._times, *spec.shape))
        charge(spec.nbytes)
        made = self._library.empty(spec.shape, spec.dtype.numpy)
        self._held[str(len(self._held))] = Tensor(made, spec, None)
        return made

    def _begin(self) -> None:
        outputs = self._step.outputs
        if self.collected is None and outputs is not None:
            self.collected = [self._empty(spec) for spec in outputs[self._loop.carries :]]

    def all(self, reverse: bool) -> None:
        """All steps, from the last row to the first if reverse: in chunks as far as these go."""
        way = self._loop.carries, self._loop.slices, reverse, bool(self.stacks)
        chunk = borrowed(self._found, way, self._times)
        left = range(self._times)
        if chunk is not None and self.collected is not None:
            left = self._in_chunks(chunk, reverse)
            given_back(chunk, self._found, way)
        for index in reversed(left) if reverse else left:
            self.do(index)

    def _in_chunks(self, chunk: Chunk, reverse: bool) -> range:
        """As many steps as can be done in chunks; those that are left, by their rows."""
        size, count = chunk.length, self._times // chunk.length
        chunk.start(self.carry, self._rest)
        into, done = self.collected or [], 0
        try:
            while done < count:
                self._tick()
                first = self._times - (done + 1) * size if reverse else done * size
                rows = slice(first, first + size)
                chunk.run(
                    *[[a[rows] for a in arrays] for arrays in (self._rows, self.stacks, into)]
                )
                done += 1
        except FAILED:  # step by step then, which says what is wrong
            self.carry = chunk.end(done=False)
        else:
            self.carry = chunk.end()
        return range(self._times - done * size) if reverse else range(done * size, self._times)

    def do(self, index: int) -> None:
        """One step, on these rows."""
        self._tick()
        for stack, array in zip(self.stacks, self.carry, strict=False):
            stack[index] = array
        found = self._step([*self.carry, *[rows[index, ...] for rows in self._rows], *self._rest])
        self._begin()
        carries = self._loop.carries
        self.carry = list(found[:carries])
        for into, array in zip(self.collected or (), found[carries:], strict=True):
            into[index] = array

    def results(self) -> tuple[list[Tensor], list[Tensor]]:
        """The carries and what was collected; the stacks. Tensors of their own."""
        if self.collected is None:
            raise error(
                "data_dependent_shape",
                f"{self._loop.asked}: without a step nobody knows what the body gives",
                "do one step at least",
            )
        made = [Tensor.of(a, device=self.device) for a in (*self.carry, *self.collected)]
        return made, [Tensor.of(a, device=self.device) for a in self.stacks]
