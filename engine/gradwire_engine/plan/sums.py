"""Algebra with sums that are there already, after which results differ in rounding alone.

What is summed over some axes and over more is summed over the rest. Where e = exp(x - max x), s its
sum along the same axis: exp(x - max x - log s) is e/s, which softmax makes and the rule of
log_softmax makes anew; and the sum of e/s is s/s. No e is above 1 and no s below, so that none of
these overflows or divides by zero where the other doesn't.
"""

from __future__ import annotations

import numpy as np

from gradwire_engine.plan.algebra import plainer
from gradwire_engine.plan.code import CONTRACT, FOLD, MAP, VIEW, Code, Step


def fewer(code: Code) -> Code:
    """The code with fewer passes over elements; itself where there is nothing to save."""
    steps = tuple(_narrowed(code, _divided(code)))
    return code if steps == code.steps else plainer(code._replace(steps=steps))


def _divided(code: Code) -> list[Step]:
    """The steps with quotients of exponentials and their sums for what is the same."""
    made: dict[int, Step] = {}
    found = []
    for step in code.steps:
        if step.run is np.exp:
            step = _as_quotient(code, step, made)
        elif step.kind == FOLD and step.run is np.add:
            step = _as_one(code, step, made)
        found.append(step)
        made.update(dict.fromkeys(step.results, step))
    return found


def _as_quotient(code: Code, step: Step, made: dict[int, Step]) -> Step:
    """exp(a - log s) as e/s, where e is exp(a)."""
    inner = made.get(step.operands[0])
    if inner is None or inner.run is not np.subtract:
        return step
    log = made.get(inner.operands[1])
    if log is None or log.run is not np.log:
        return step
    total = log.operands[0]
    powers = _summed(code, total, made)
    if powers is None or powers.operands[0] != inner.operands[0]:
        return step
    return _quotient(step, powers.results[0], total)


def _as_one(code: Code, step: Step, made: dict[int, Step]) -> Step:
    """The sum of e/s as s/s: 1, or NaN where there is one."""
    quotient = made.get(step.operands[0])
    if quotient is None or quotient.run is not np.divide:
        return step
    one, total = quotient.operands
    powers = _summed(code, total, made)
    if powers is None or powers.results[0] != one:
        return step
    largest = made[made[powers.operands[0]].operands[1]]
    return _quotient(step, total, total) if step.options == largest.options else step


def _quotient(step: Step, one: int, other: int) -> Step:
    return Step(MAP, np.divide, (one, other), step.results, (), np.divide, step.line)


def _summed(code: Code, total: int, made: dict[int, Step]) -> Step | None:
    """The step exp(x - max x) that a value is the sum of, along the axes of that maximum."""
    step = made.get(total)
    if step is not None and step.kind == VIEW and step.key[0] == "reshape":  # type: ignore[index]
        step = made.get(step.operands[0])
    if step is None or not (step.kind == CONTRACT or (step.kind == FOLD and step.run is np.add)):
        return None
    powers = made.get(step.operands[0])
    if len(step.operands) != 1 or powers is None or powers.run is not np.exp:
        return None
    shifted = made.get(powers.operands[0])
    if shifted is None or shifted.run is not np.subtract:
        return None
    number, largest = shifted.operands
    peak = made.get(largest)
    if peak is None or peak.kind != FOLD or peak.run is not np.maximum:
        return None
    options = dict(peak.options)
    alike = options["axis"] == dict(step.options)["axis"] and options["keepdims"]
    same = peak.operands[0] == number and code.phantoms[total].shape == _shape(code, peak)
    return powers if alike and same else None


def _narrowed(code: Code, steps: list[Step]) -> list[Step]:
    """The steps with sums over more axes made of those over fewer, which stand before them."""
    sums: dict[int, list[Step]] = {}
    for step in steps:
        if step.kind == FOLD and step.run is np.add:
            sums.setdefault(step.operands[0], []).append(step)
    found: dict[tuple[int, ...], Step] = {}  # by results, in order
    for step in steps:
        narrow = _narrowest(code, step, sums.get(step.operands[0], ())) if step.operands else None
        if narrow is not None:
            found.setdefault(narrow.results, narrow)
            step = step._replace(operands=narrow.results)
        found.setdefault(step.results, step)
    return list(found.values())


def _narrowest(code: Code, step: Step, sums: list[Step] | tuple[()]) -> Step | None:
    """Of the sums of an operand of a sum one over fewer of its axes, that keeps them as ones."""
    if step.kind != FOLD or step.run is not np.add:
        return None
    axes = {*dict(step.options)["axis"]}
    size = code.phantoms[step.operands[0]].size
    inside = [
        s
        for s in sums
        if dict(s.options)["keepdims"]
        and {*dict(s.options)["axis"]} < axes
        and 2 * code.phantoms[s.results[0]].size <= size
    ]
    return min(inside, key=lambda s: len(dict(s.options)["axis"]), default=None)


def _shape(code: Code, step: Step) -> tuple[int, ...]:
    shape: tuple[int, ...] = code.phantoms[step.results[0]].shape
    return shape
