"""Tensors brought to fit each other: atleast_nd, broadcasting, meshgrid, products, combinations."""

from __future__ import annotations

from math import comb, prod
from typing import Any

from gradwire_engine.accepted import one_dtype
from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import composite, internal
from gradwire_engine.ops.advanced import index as index_at
from gradwire_engine.ops.expand import expand, reshape
from gradwire_engine.ops.join import stack
from gradwire_engine.ops.views import slice_
from gradwire_engine.promote import broadcast_shapes
from gradwire_engine.signature import Arrays, Device
from gradwire_engine.spec import Spec, int64

_MOST_AT_ONCE = 64  # elements in one combination; torch makes an axis of each


@composite()
def broadcast_tensors(tensors: Arrays) -> tuple[Array, ...]:
    """Expand tensors to the shape that all of them broadcast to."""
    shape = broadcast_shapes("broadcast_tensors", *(tuple(t.shape) for t in tensors))
    return tuple(expand(t, shape) for t in tensors)


@composite()
def meshgrid(tensors: Arrays, *, indexing: str | None = None) -> tuple[Array, ...]:
    """Coordinates of the grid that vectors span: one tensor each, all of the grid's shape."""
    if indexing not in (None, "ij", "xy"):
        raise invalid_argument(f"meshgrid: indexing is {indexing!r}", "it must be 'ij' or 'xy'")
    if not tensors or any(t.ndim > 1 for t in tensors):
        raise invalid_argument(
            f"meshgrid: takes vectors, got shapes {[list(t.shape) for t in tensors]}",
            "ravel() them",
        )
    one_dtype("meshgrid", **{f"tensors[{i}]": t for i, t in enumerate(tensors)})
    count = len(tensors)
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[:2] = [1, 0]
    sizes = [prod(t.shape) for t in tensors]
    shape = tuple(sizes[place] for place in places)
    return tuple(
        expand(reshape(t, tuple(-1 if i == place else 1 for i in range(count))), shape)
        for t, place in zip(tensors, places, strict=True)
    )


@composite()
def cartesian_prod(tensors: Arrays) -> Array:
    """All tuples with an element from each vector, a row each, the last changing fastest."""
    if not tensors or any(t.ndim != 1 for t in tensors):
        raise invalid_argument(
            f"cartesian_prod: takes vectors, got shapes {[list(t.shape) for t in tensors]}",
            "ravel() them",
        )
    if len(tensors) == 1:
        return tensors[0]
    return stack([reshape(t, (-1,)) for t in meshgrid(tensors)], 1)


def _tuples(n: int, r: int, repeats: bool) -> int:
    return comb(n + r - 1, r) if repeats and n + r else comb(n, r)


@internal(spec=lambda n, r, repeats: (Spec((_tuples(n, r, repeats),), int64, ""),) * r)
def tuple_places(xp: Any, n: int, r: int, repeats: bool, device: Device | None = None) -> Any:
    """The places of all r-tuples among n elements: the first of each tuple, the second, …"""
    first = n if repeats else n - r + 1  # so many elements can be the first of a tuple
    found = [xp.arange(max(first, 0))]
    for place in range(1, r):
        low = found[-1] if repeats else found[-1] + 1
        counts = (n if repeats else first + place) - low
        ends = xp.cumsum(counts)
        steps = xp.arange(int(ends[-1]) if ends.size else 0)
        which = xp.searchsorted(ends, steps, side="right")
        found = [column[which] for column in found]
        found.append(low[which] + steps - (ends - counts)[which])
    return found


@composite()
def combinations(input: Array, r: int = 2, with_replacement: bool = False) -> Array:
    """All combinations of r elements of a vector, in the vector's order, a row each."""
    if input.ndim != 1 or not 0 <= r <= _MOST_AT_ONCE:
        raise invalid_argument(
            f"combinations: r is {r}, the tensor has {input.ndim} axes",
            f"r is from 0 to {_MOST_AT_ONCE}, the tensor a vector",
        )
    if not r:
        return slice_(input, 0, 0, 0, 1)
    device = input.device if isinstance(input.device, str) else None
    places = tuple_places(input.shape[0], r, with_replacement, device)
    return stack([index_at(input, (p,)) for p in places], 1)
