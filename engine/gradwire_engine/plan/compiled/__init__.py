"""Regions compiled by LLVM, where llvmlite is installed (`pip install 'gradwire[compiled]'`).

Without it a region runs block by block with NumPy's functions. Both give the same but for the order
in which sums are added up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from gradwire_engine.plan.bound import Part, number_taken
from gradwire_engine.plan.code import Code, Step
from gradwire_engine.plan.compiled.emit import checked
from gradwire_engine.plan.compiled.llvm import Unsupported, available
from gradwire_engine.plan.compiled.native import Native
from gradwire_engine.plan.compiled.schedule import Lies
from gradwire_engine.plan.compiled.writer import Given

__all__ = ["Native", "native"]

WORTH = 1 << 17
"""Elements times steps from which on a region is worth the compiler's time and memory."""

Values = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def native(
    code: Code, steps: Sequence[Step], dims: tuple[int, ...], part: Callable[[int], Part],
    values: Values,
) -> Native | None:  # fmt: skip
    """A region compiled; None where it can't be, isn't worth it, or llvmlite isn't there.

    part: how a value lies in the space. values: what it reads, gives, and gives at the end.
    """
    if len(dims) > 2 or prod(dims) * len(steps) < WORTH or not available():
        return None
    numbers = {n for s in steps for n in (*s.operands, *s.results) if n in code.phantoms}
    try:
        checked(steps)
        lies = {n: _lies(part(n).shape, dims) for n in numbers}
        return Native(Given(code, steps, dims, lies, *values, partial(number_taken, code)))
    except Unsupported:
        return None


def _lies(shape: tuple[int, ...], dims: tuple[int, ...]) -> Lies:
    along = tuple(n == size for n, size in zip(shape, dims, strict=True))
    if all(along):
        return Lies.FULL
    if not any(along):
        return Lies.ONE
    return Lies.ROW if along[0] else Lies.COLUMN
