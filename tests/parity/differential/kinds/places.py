"""Steps that put elements elsewhere: joins, choices, gathered and scattered elements."""

from __future__ import annotations

from typing import Any

from tests.parity.differential.kinds.registry import kind, words
from tests.parity.differential.step import Given, Ref, Step
from tests.parity.differential.world import World, function, method, with_axes


@kind("join", 4)
def join(w: World) -> Step | None:
    x = w.any(with_axes) if w.chance(0.95) else w.any()
    if x is None:
        return None
    like = w.get(x)
    parts = [x]
    for _ in range(w.whole(0, 2)):
        other = w.any(lambda t: t.shape == like.shape and (t.dtype == like.dtype or w.chance(0.2)))
        parts.append(other or x)
    name = w.one(words(
        "cat cat stack hstack vstack dstack column_stack block_diag cat stack concat"
    ))  # fmt: skip
    if name in ("cat", "stack", "concat"):
        return function("join", name, parts, w.dim(x), out=w.name())
    rest = parts if name == "block_diag" else [parts]
    return function("join", name, *rest, out=w.name())


@kind("choice", 3)
def choice(w: World) -> Step | None:
    x = w.any()
    if x is None:
        return None
    name = w.one(list(_CHOICES))
    rest = _CHOICES[name](w, x)
    return None if rest is None else method("choice", name, x, *rest, out=w.name())


def _masked(w: World, x: Ref) -> Any:
    return w.mask(w.get(x).shape)


def _number_or_scalar(w: World, x: Ref) -> Any:
    dtype = w.get(x).dtype
    scalar = w.strictly(lambda t: t.ndim == 0 and t.dtype == dtype) if w.chance(0.5) else None
    return w.number() if scalar is None else scalar


_CHOICES: dict[str, Any] = {
    "where": lambda w, x: (_masked(w, x), w.fellow(x)),
    "masked_fill": lambda w, x: (_masked(w, x), _number_or_scalar(w, x)),
    "masked_select": lambda w, x: (_masked(w, x),),
    "masked_scatter": lambda w, x: (_masked(w, x), w.same(x) or x),
    "clamp": lambda w, x: (-1, w.one((1, 0.5, None))),
    "clamp_min": lambda w, x: (w.number(),),
    "clamp_max": lambda w, x: (w.number(),),
    "tril": lambda w, x: (w.whole(-1, 1),) if w.chance(0.5) else (),
    "triu": lambda w, x: (w.whole(-1, 1),) if w.chance(0.5) else (),
    "nan_to_num": lambda w, x: None if w.get(x).dtype.is_complex else (),
    "nonzero": lambda w, x: () if w.chance(0.3) else None,
}
"""Ops that take some elements and leave others, and how their arguments are drawn."""


@kind("gather", 4)
def gather(w: World) -> Step | None:
    x = w.any(with_axes)
    if x is None:
        return None
    name = w.one(list(_GATHERS))
    rest = _GATHERS[name](w, x)
    return None if rest is None else method("gather", name, x, *rest, out=w.name())


def _along(w: World, x: Ref) -> tuple[int, int]:
    """An axis of x and its size; an axis that it hasn't, with any size."""
    axis, shape = w.dim(x), w.get(x).shape
    fits = -len(shape) <= axis < len(shape)
    return axis, shape[axis] if fits else 2


def _list(w: World, x: Ref) -> tuple[int, Any]:
    """An axis, and some places along it."""
    axis, size = _along(w, x)
    known = w.strictly(lambda t: str(t.dtype) == "torch.int64" and t.ndim == 1)
    if known is not None and w.chance(0.4):
        return axis, known
    return axis, w.places((w.whole(0 if w.chance(0.1) else 1, 3),), size)


def _grid(w: World, x: Ref) -> tuple[int, Any]:
    """An axis, and places along it for each of as many rows or fewer."""
    axis, size = _along(w, x)
    shape = list(w.get(x).shape)
    known = w.strictly(lambda t: str(t.dtype) == "torch.int64" and t.ndim == len(shape))
    if known is not None and w.chance(0.25):
        return axis, known
    if shape and -len(shape) <= axis < len(shape):
        shape[axis] = w.whole(1, 2)
    return axis, w.places(tuple(shape), size)


def _repeats(w: World, x: Ref) -> tuple[Any, ...]:
    axis, size = _along(w, x)
    if w.chance(0.4) or not -w.get(x).ndim <= axis < w.get(x).ndim:
        return (2,)
    counts = [w.whole(0, 2) for _ in range(size)]
    return (2, axis) if w.chance(0.5) else (Given(counts, "int64"), axis)


_GATHERS: dict[str, Any] = {
    "index_select": _list,
    "gather": _grid,
    "take_along_dim": lambda w, x: (lambda found: (found[1], found[0]))(_grid(w, x)),
    "take": lambda w, x: (w.places((w.whole(1, 3),), w.get(x).numel()),),
    "repeat": lambda w, x: tuple(w.whole(0 if w.chance(0.1) else 1, 2) for _ in w.get(x).shape),
    "tile": lambda w, x: ((2,),) if w.chance(0.5) else ((1, 2),),
    "repeat_interleave": _repeats,
    "diag_embed": lambda w, x: (),
    "diag": lambda w, x: (w.whole(-1, 1),),
    "diagflat": lambda w, x: (),
}
"""Ops that copy elements to other places, and how their arguments are drawn."""


@kind("scatter", 3)
def scatter(w: World) -> Step | None:
    x = w.any(lambda t: t.ndim > 0 and t.is_floating_point())
    if x is None:
        return None
    name = w.one(list(SCATTERS))
    called = SCATTERS[name](w, x)
    if called is None:
        return None
    rest, options = called
    return method("scatter", name, x, *rest, out=w.name(), **options)


def _at_places(w: World, x: Ref) -> Any:
    """index_add and index_copy: whole rows."""
    axis, where = _list(w, x)
    shape = list(w.get(x).shape)
    if isinstance(where, Given) and shape and -len(shape) <= axis < len(shape):
        shape[axis] = len(where.values)
    return (axis, where, w.beside(x, shape)), {}


def _added(w: World, x: Ref) -> Any:
    rest, _ = _at_places(w, x)
    return rest, {"alpha": 2} if w.chance(0.3) else {}


def _filled(w: World, x: Ref) -> Any:
    return (*_list(w, x), _number_or_scalar(w, x)), {}


def _from_source(w: World, x: Ref) -> Any:
    axis, where = _grid(w, x)
    shape = _shape_of(w, where)
    return (axis, where, w.beside(x, shape)), {}


def _scattered(w: World, x: Ref) -> Any:
    if w.chance(0.4):
        return (*_grid(w, x), w.number()), {}
    return _from_source(w, x)


def _reduced(w: World, x: Ref) -> Any:
    rest, _ = _from_source(w, x)
    how = w.one(words("sum prod mean amax amin"))
    return (*rest, how), {"include_self": False} if w.chance(0.4) else {}


def _shape_of(w: World, where: Any) -> tuple[int, ...]:
    if isinstance(where, Ref):
        return tuple(w.get(where).shape)
    found: list[int] = []
    values = where.values
    while isinstance(values, list):
        found.append(len(values))
        values = values[0] if values else None
    return tuple(found)


def _selected(w: World, x: Ref) -> Any:
    axis, size = _along(w, x)
    shape = list(w.get(x).shape)
    if -len(shape) <= axis < len(shape):
        del shape[axis]
    return (w.beside(x, shape), axis, w.whole(-size, max(size - 1, 0))), {}


def _sliced(w: World, x: Ref) -> Any:
    axis, size = _along(w, x)
    shape = list(w.get(x).shape)
    if -len(shape) <= axis < len(shape):
        shape[axis] = min(size, 1)
    return (w.beside(x, shape),), {"dim": axis, "start": 0, "end": 1}


def _on_diagonal(w: World, x: Ref) -> Any:
    shape = w.get(x).shape
    if len(shape) < 2:
        return None
    return (w.beside(x, (*shape[2:], min(shape[:2]))),), {}


def _put(w: World, x: Ref) -> Any:
    """index_put: at pairs of places, or along the first axis."""
    count = w.whole(1, 3)
    shape = w.get(x).shape
    if not shape:
        return None
    axes = w.whole(1, len(shape))
    where = tuple(w.places((count,), size) for size in shape[:axes])
    return (where, w.beside(x, (count, *shape[axes:]))), {"accumulate": w.chance(0.5)}


SCATTERS: dict[str, Any] = {
    "index_add": _added,
    "index_copy": _at_places,
    "index_fill": _filled,
    "scatter": _scattered,
    "scatter_add": _from_source,
    "scatter_reduce": _reduced,
    "select_scatter": _selected,
    "slice_scatter": _sliced,
    "diagonal_scatter": _on_diagonal,
    "index_put": _put,
}
"""Ops that put elements of another tensor into a copy, and how their arguments are drawn."""
