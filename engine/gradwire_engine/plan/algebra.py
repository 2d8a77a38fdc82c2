"""Cheap algebra on steps, only where the result is the same to the last bit.

x·1, x/1, x-0 (but of complex numbers), -(-x), and a cast to a wider dtype and back, are x; x+(-y)
is x-y, and x-(-y) x+y. What only sums read, of floats: (-x)·y is -(x·y), and -x-x is -(x+x), so
that the sums take the minus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradwire_engine.plan.code import MAP, VIEW, Code, Step
from gradwire_engine.plan.functions import copied


def plainer(code: Code) -> Code:
    """The code without steps that change nothing; what became the same is done once."""
    names: dict[int, int] = {}
    made: dict[int, Step] = {}
    seen: dict[Any, Step] = {}
    kept: list[Step] = []
    taken = _taken_by_sums(code)
    code = code._replace(phantoms=dict(code.phantoms))
    pending = list(reversed(code.steps))
    while pending:
        step = pending.pop()
        step = step._replace(operands=tuple(names.get(n, n) for n in step.operands))
        step = _without_minus(step, made)
        if step.results[0] in taken:
            taken.discard(step.results[0])
            turned = _minus_outside(code, step, made)
            if turned is not None:
                pending += reversed(turned)
                continue
        same = _same(code, step, made)
        if same is not None:
            names[step.results[0]] = same
            continue
        first = seen.setdefault((step.kind, step.key, step.operands, step.options), step)
        if first is step:
            kept.append(step)
            made.update(dict.fromkeys(step.results, step))
        else:
            names.update(zip(step.results, first.results, strict=True))
    outputs = tuple(names.get(n, n) for n in code.outputs)
    return without_dead(code._replace(steps=tuple(kept), outputs=outputs))


def without_dead(code: Code) -> Code:
    """The code without steps whose results nobody uses."""
    wanted = set(code.outputs)
    kept: list[Step] = []
    for step in reversed(code.steps):
        if not wanted.isdisjoint(step.results):
            wanted.update(step.operands)
            kept.append(step)
    constants = {n: value for n, value in code.constants.items() if n in wanted}
    return code._replace(constants=constants, steps=tuple(reversed(kept)))


def _taken_by_sums(code: Code) -> set[int]:
    """Real floats that only sums read, differences from something else, and negatives."""
    other = set(code.outputs)
    read: set[int] = set()
    for step in code.steps:
        if step.kind == MAP and step.run in _OTHER and step.operands[0] != step.operands[1]:
            read.add(step.operands[1])
            (read if step.run is np.add else other).add(step.operands[0])
        elif step.run is np.negative:
            read.update(step.operands)
        else:
            other.update(step.operands)
    return {n for n in read - other if n in code.phantoms and code.phantoms[n].dtype.kind == "f"}


def _minus_outside(code: Code, step: Step, made: Mapping[int, Step]) -> Sequence[Step] | None:
    """A product with what was negated before it, or -x-x, as the negative of a new value."""
    found = _positive(step, made) if step.kind == MAP else None
    if found is None:
        return None
    run, operands = found
    given = [code.phantoms[n].dtype.kind for n in operands if n in code.phantoms]
    if {*given} != {"f"}:  # an integer's negative may wrap around
        return None
    number = max(max(code.phantoms), max(code.constants, default=0), *step.results) + 1
    code.phantoms[number] = code.phantoms[step.results[0]]
    return (
        step._replace(run=run, key=run, operands=operands, results=(number,)),
        step._replace(run=np.negative, key=np.negative, operands=(number,)),
    )


def _positive(step: Step, made: Mapping[int, Step]) -> tuple[Any, tuple[int, int]] | None:
    """The function and operands of which a step gives the negative."""
    if step.run is np.subtract:
        first, second = step.operands
        return (np.add, (second, second)) if _negated(first, made) == second else None
    if step.run is np.multiply:
        first, second = step.operands
        one, two = _negated(first, made), _negated(second, made)
        if one is not None:
            return step.run, (one, second)
        if two is not None:
            return step.run, (first, two)
    return None


def _without_minus(step: Step, made: dict[int, Step]) -> Step:
    """A sum or difference with what was negated before it, as the other of the two."""
    other = _OTHER.get(step.run) if step.kind == MAP else None
    if other is None:
        return step
    for first, second in (step.operands, step.operands[::-1]):
        before = _negated(second, made)
        if before is not None:
            return step._replace(run=other, key=other, operands=(first, before))
        if step.run is np.subtract:
            break
    return step


_OTHER: dict[Any, Any] = {np.add: np.subtract, np.subtract: np.add}


def _negated(number: int, made: Mapping[int, Step]) -> int | None:
    """What a value is the negative of."""
    step = made.get(number)
    return step.operands[0] if step is not None and step.run is np.negative else None


def _same(code: Code, step: Step, made: dict[int, Step]) -> int | None:
    """The value that a step's result is, if it is that of one of its operands, or of theirs.

    It has to lie as the result does, too: views of that were taken from how it lies.
    """
    if step.kind != MAP:
        return None
    result = _form(code.phantoms[step.results[0]])
    for found in _candidates(code, step, made):
        given = code.phantoms.get(found)
        if given is not None and _form(given) == result:
            return found
    return None


def _form(array: Any) -> tuple[Any, ...]:
    return array.shape, array.strides, array.dtype


def _candidates(code: Code, step: Step, made: dict[int, Step]) -> list[int]:
    operands = step.operands
    neutral = _NEUTRAL.get(step.run)
    if neutral is not None:
        if code.phantoms[step.results[0]].dtype.kind == "c":
            return []
        value, either = neutral
        places = (1, 0) if either else (1,)
        return [operands[1 - place] for place in places if _is(code, operands[place], value, made)]
    before = made.get(operands[0])
    if before is None or before.run is not step.run:
        return []
    if step.run is np.negative:
        return [before.operands[0]]
    if step.run is copied and _widens(code, before):
        return [before.operands[0]]
    return []


_NEUTRAL: dict[Any, tuple[int, bool]] = {
    np.multiply: (1, True),
    np.divide: (1, False),
    np.subtract: (0, False),
}
"""What changes nothing as the second operand, and whether as the first neither; of complex numbers
none does, where a product with 1 + 0i is NaN at infinities."""


def _is(code: Code, number: int, value: int, made: dict[int, Step]) -> bool:
    """Whether a value is this number everywhere: as a constant, or a view of one."""
    while number in made and made[number].kind == VIEW:
        number = made[number].operands[0]
    known = code.constants.get(number)
    if known is None or isinstance(known, complex) or getattr(known, "dtype", None) == np.bool_:
        return False
    return bool(np.all(np.equal(known, value))) and not np.any(np.signbit(np.real(known)))


def _widens(code: Code, cast: Step) -> bool:
    """Whether a cast keeps all that its operand is."""
    narrow, wide = (code.phantoms[n].dtype for n in (cast.operands[0], cast.results[0]))
    if not np.can_cast(narrow, wide, "safe"):
        return False
    # NumPy calls int64 to float64 safe, which has 53 bits for it
    return narrow.kind not in "iu" or wide.kind in "iu" or _bits(narrow) <= _bits(wide)


def _bits(dtype: np.dtype) -> int:
    """Binary digits that a number of a dtype has."""
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max).bit_length()
    return int(np.finfo(dtype).nmant) + 1
