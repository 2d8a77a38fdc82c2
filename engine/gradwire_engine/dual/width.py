"""Tangents that take part in all that their value does, so that whatever is written to them fits.

Under vmap a tangent may be the same for all examples where the value is not, and in nested forward
mode it may stand still where the value moves: there it is held once. A write may make it differ,
and by then views may share it. So it is spread before the first view is made of it, and before it
is written. A tensor without any is given one of zeros, where what moves may be written to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gradwire_engine.batch.value import Batched
from gradwire_engine.dual.value import Dual
from gradwire_engine.mode import local
from gradwire_engine.ops.arithmetic import add
from gradwire_engine.ops.expand import expand
from gradwire_engine.reading import zeros
from gradwire_engine.tensor import Tensor


def spread(dual: Dual) -> None:
    """Let the tangent differ in every batch, and move in every direction, that the value does."""
    if type(dual.primal) is Tensor and type(dual.tangent) is Tensor:
        return
    levels = levels_of(dual.primal) | levels_of(dual.tangent)
    if levels.keys() - _everywhere(dual.tangent):
        dual.tangent = add(dual.tangent, _zeros(dual, levels))


def standing(value: Any, levels: Mapping[int, int | None], own: Mapping[int, int | None]) -> Any:
    """A value that stands still so far in each forward walk among these levels.

    Its tangents have a part in all transforms outside of the walk, so that any may be written.
    own: levels that a plain tensor itself is to have a part in, too.
    """
    moving = levels_of(value)
    if own and type(value) is Tensor:
        value = add(value, _zeros(value, own))
    for level in sorted(level for level, size in levels.items() if size is None):
        if level not in moving:
            outside = {place: size for place, size in levels.items() if place < level}
            value = _standing(value, level, outside)
    return value


def _standing(value: Any, level: int, outside: Mapping[int, int | None]) -> Any:
    if type(value) is not Tensor and value.level > level:
        both = getattr(value, "throughout", value.within)
        return both(lambda inner: _standing(inner, level, outside))
    return Dual(value, add(zeros(value.spec), _zeros(value, outside)), level)


def among_columns(values: Iterable[Any]) -> dict[int, int | None]:
    """The levels of maps over unit tangents in which values, without their tangents, differ."""
    layer, columns = local.state.vmap, set()
    while layer is not None:
        columns |= {layer.level} if layer.columns else set()
        layer = layer.outer
    found: dict[int, int | None] = {}
    for value in values:
        while type(value) is not Tensor:
            if type(value) is Batched and value.level in columns:
                found[value.level] = value.size
            value = value.primal if type(value) is Dual else value.value
    return found


def levels_of(value: Any) -> dict[int, int | None]:
    """The levels of the transforms that parts of a value take part in; of maps their sizes."""
    if type(value) is Batched:
        return levels_of(value.value) | {value.level: value.size}
    if type(value) is Dual:
        return levels_of(value.primal) | levels_of(value.tangent) | {value.level: None}
    return {}


def _everywhere(value: Any) -> set[int]:
    """The levels that all parts of a value take part in."""
    if type(value) is Batched:
        return _everywhere(value.value) | {value.level}
    if type(value) is Dual:
        return _everywhere(value.primal) & _everywhere(value.tangent) | {value.level}
    return set()


def _zeros(like: Any, levels: Mapping[int, int | None]) -> Any:
    """Zeros that take part in these levels throughout."""
    made: Any = zeros(like.spec)
    for level, size in sorted(levels.items()):
        if size is None:
            made = Dual(made, add(made, 0), level)
        else:
            made = Batched(expand(made, (size, *made.shape)), level)
    return made
