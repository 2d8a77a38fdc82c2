"""Tangents that take part in all that their value does, so that whatever is written to them fits.

Under vmap a tangent may be the same for all examples where the value is not, and in nested forward
mode it may stand still where the value moves: there it is held once. A write may make it differ,
and by then views may share it. So it is spread before the first view is made of it, and before it
is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradwire_engine.batch.value import Batched
from gradwire_engine.dual.value import Dual
from gradwire_engine.ops.arithmetic import add
from gradwire_engine.ops.expand import expand
from gradwire_engine.reading import zeros
from gradwire_engine.tensor import Tensor


def spread(dual: Dual) -> None:
    """Let the tangent differ in every batch, and move in every direction, that the value does."""
    if type(dual.primal) is Tensor and type(dual.tangent) is Tensor:
        return
    levels = _levels(dual.primal) | _levels(dual.tangent)
    if levels.keys() - _everywhere(dual.tangent):
        dual.tangent = add(dual.tangent, _zeros(dual, levels))


def _levels(value: Any) -> dict[int, int | None]:
    """The levels of the transforms that parts of a value take part in; of maps their sizes."""
    if type(value) is Batched:
        return _levels(value.value) | {value.level: value.size}
    if type(value) is Dual:
        return _levels(value.primal) | _levels(value.tangent) | {value.level: None}
    return {}


def _everywhere(value: Any) -> set[int]:
    """The levels that all parts of a value take part in."""
    if type(value) is Batched:
        return _everywhere(value.value) | {value.level}
    if type(value) is Dual:
        return _everywhere(value.primal) & _everywhere(value.tangent) | {value.level}
    return set()


def _zeros(like: Dual, levels: Mapping[int, int | None]) -> Any:
    """Zeros that take part in these levels throughout."""
    made: Any = zeros(like.spec)
    for level, size in sorted(levels.items()):
        if size is None:
            made = Dual(made, add(made, 0), level)
        else:
            made = Batched(expand(made, (size, *made.shape)), level)
    return made
