"""The step of a loop in parts: what has to wait for the step before it, and what has not.

once: made of the rest alone, the same in every step. before: of rows, so it can be done for many
steps at a time. core: what carries of the next step need, of carries of this one. after: what only
results need. A carry that is nothing but added to is a sum: its addends are made after the core.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gradwire_engine.plan.code import MAP, VIEW, Code, Step
from gradwire_engine.plan.uses import read


class Parts(NamedTuple):
    """Steps in an order in which each part can run.

    sums: for each carry that is a sum its addends. varying: values that differ from step to step.
    """

    once: Sequence[Step]
    before: Sequence[Step]
    core: Sequence[Step]
    after: Sequence[Step]
    sums: dict[int, Sequence[int]]
    varying: frozenset[int]

    @property
    def addends(self) -> Sequence[int]:
        """Those of all sums."""
        return [n for found in self.sums.values() for n in found]


def in_order(code: Code, parts: Parts, carries: int) -> Parts:
    """The same with all but what is done once in the core, in the order of the code: of a single
    step nothing can be done for many at a time, and what was made is read while it is in the cache.
    """
    inside = {s.results for s in (*parts.before, *parts.core, *parts.after)}
    steps = [s for s in code.steps if s.results in inside]
    shown = _reached(
        [s for s in steps if s.kind == VIEW], [*code.outputs[carries:], *parts.addends]
    )
    return parts._replace(before=(), core=steps, after=shown)


def parted(code: Code, carries: int, slices: int, keeps: bool = False) -> Parts:
    """The parts of a body's code, whose inputs are carries, rows and the rest.

    keeps: whether all carries are asked for as they go into each step; then none is but a sum.
    """
    uses = read(code.steps)  # and how often each value is given as a result
    uses.update(code.outputs)
    made = {n: step for step in code.steps for n in step.results}
    sums: dict[int, Sequence[int]] = {}
    for place in range(carries):
        addends = None if keeps else _addends(code, place, uses, made)
        if addends is not None:
            sums[place] = addends
    chains = {code.inputs[p] for p in range(carries) if p not in sums}
    waiting = _from(chains, code.steps)
    varying = _from({*code.inputs[: carries + slices]}, code.steps)
    last = [code.outputs[p] for p in range(carries) if p not in sums]
    needed = _needed(last, code.steps)
    kept = [*code.outputs[carries:], *[n for found in sums.values() for n in found]]
    wanted = _needed(kept, code.steps)
    late = [s for s in code.steps if not waiting.isdisjoint(s.results)]
    core = [s for s in late if not needed.isdisjoint(s.results)]
    inside = {n for s in core if s.kind != VIEW for n in s.results}
    # a view of what the core makes is taken again, of all steps' at a time
    after = [s for s in late if wanted & {*s.results} and inside.isdisjoint(s.results)]
    early = [s for s in code.steps if waiting.isdisjoint(s.results)]
    used = needed | wanted
    early = [s for s in early if not used.isdisjoint(s.results)]
    return Parts(
        [s for s in early if varying.isdisjoint(s.results)],
        [s for s in early if not varying.isdisjoint(s.results)],
        core,
        _reached(after, kept),
        sums,
        frozenset(varying),
    )


def _addends(
    code: Code, place: int, uses: dict[int, int], made: dict[int, Step]
) -> Sequence[int] | None:
    """What a carry is added to in each step; None where more is done with it."""
    carry, result = code.inputs[place], code.outputs[place]
    step = made.get(result)
    if step is None or not _adds(step, code) or uses[result] != 1 or uses.get(carry) != 1:
        return None
    first, second = step.operands
    if carry not in (first, second):
        return None
    found: list[int] = []
    pending = [second if first == carry else first]
    while pending:  # an addend that is a sum itself is added up one by one
        number = pending.pop()
        step = made.get(number)
        if step is not None and uses[number] == 1 and _adds(step, code):
            pending += reversed(step.operands)
        elif step is not None and uses[number] == 1 and _shows_all(step, code):
            pending.append(step.operands[0])
        else:
            found.append(number)
    return found


def _adds(step: Step, code: Code) -> bool:
    """Whether a step adds two values as large as its result."""
    if step.kind != MAP or step.run is not np.add:
        return False
    arrays = [code.phantoms.get(n) for n in (*step.operands, *step.results)]
    return len({None if a is None else (a.shape, a.dtype) for a in arrays}) == 1


def _shows_all(step: Step, code: Code) -> bool:
    """Whether a step is a view of all its operand, as it is."""
    before, after = code.phantoms.get(step.operands[0]), code.phantoms[step.results[0]]
    return (
        step.kind == VIEW
        and before is not None
        and (
            (before.shape, before.strides, before.dtype)
            == (after.shape, after.strides, after.dtype)
        )
    )


def _from(numbers: Iterable[int], steps: Sequence[Step]) -> set[int]:
    """All that is made of these values, and they themselves."""
    found = set(numbers)
    for step in steps:
        if not found.isdisjoint(step.operands):
            found.update(step.results)
    return found


def _needed(numbers: Iterable[int], steps: Sequence[Step]) -> set[int]:
    """All that these values are made of, and they themselves."""
    found = set(numbers)
    for step in reversed(steps):
        if not found.isdisjoint(step.results):
            found.update(step.operands)
    return found


def _reached(steps: Sequence[Step], numbers: Iterable[int]) -> list[Step]:
    """Those of the steps that these values are made by, from these steps' first operands on."""
    wanted, found = set(numbers), []
    for step in reversed(steps):
        if not wanted.isdisjoint(step.results):
            wanted.update(step.operands)
            found.append(step)
    return found[::-1]
