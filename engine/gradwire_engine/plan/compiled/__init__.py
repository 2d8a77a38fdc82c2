"""Regions compiled by LLVM, where llvmlite is installed (`pip install 'gradwire[compiled]'`).

Without it a region runs block by block with NumPy's functions. Both give the same but for the order
in which sums are added up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from gradwire_engine.plan.bound import Part
from gradwire_engine.plan.code import Code, Step
from gradwire_engine.plan.compiled.emit import checked
from gradwire_engine.plan.compiled.llvm import Unsupported
from gradwire_engine.plan.compiled.native import Native, dense
from gradwire_engine.plan.compiled.schedule import Lies
from gradwire_engine.plan.compiled.writer import Given

__all__ = ["Native", "compiled_region"]

WORTH = 1 << 17
"""Elements times steps from which on a region is worth the compiler's time and memory."""

MOST = 1 << 10
"""Steps of a region at most: what a compiler takes grows faster than these."""


def compiled_region(
    code: Code, steps: Sequence[Step], dims: tuple[int, ...], part: Callable[[int], Part],
    reads: Sequence[int], outputs: Sequence[int], late: Sequence[int],
) -> Native | None:  # fmt: skip
    """A region compiled; None where it can't be, isn't worth it, or llvmlite isn't there.

    part: how a value lies in the space. reads, outputs, late: values that it reads, gives, and
    gives at the end.
    """
    if len(dims) > 2 or len(steps) > MOST or prod(dims) * len(steps) < WORTH:
        return None
    numbers = {n for s in steps for n in (*s.operands, *s.results) if n in code.phantoms}
    try:
        checked(steps)
        if not all(dense(part(n).seen(code.phantoms[n])) for n in (*reads, *outputs)):
            raise Unsupported("rows with gaps")
        lies = {n: _lies(part(n).shape, dims) for n in numbers}
        return Native(Given(code, steps, dims, lies, tuple(reads), tuple(outputs), tuple(late)))
    except Unsupported:
        return None


def _lies(shape: tuple[int, ...], dims: tuple[int, ...]) -> Lies:
    along = tuple(n == size for n, size in zip(shape, dims, strict=True))
    if all(along):
        return Lies.FULL
    if not any(along):
        return Lies.ONE
    return Lies.ROW if along[0] else Lies.COLUMN
