"""Elements of planes picked by flat places, and put back: how pooling undoes itself.

A plane is what the last axes hold; places count its elements in row-major order.
"""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.batch.samples import planes_of
from gradwire_engine.families import internal
from gradwire_engine.kernels.row_blocks import each_block
from gradwire_engine.ops.accumulate import summed
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Ints
from gradwire_engine.spec import Shape


def _flat(xp: Any, index: Array, planes: int, size: int) -> Array:
    """Places in planes as places in the whole array."""
    rows = index.reshape(planes, index.size // max(planes, 1))
    return rows + (xp.arange(planes) * size).reshape(-1, 1)


def _planes(shape: Shape, axes: int) -> tuple[int, int]:
    """How many planes an array of this shape has, and how many elements each."""
    return prod(shape[: len(shape) - axes]), prod(shape[len(shape) - axes :])


@internal(
    vjp(
        input=lambda g, index, axes, apart, input_spec: put_back(
            g, index, input_spec.shape, axes, apart
        )
    ),
    spec=lambda input, index: input.with_(shape=index.shape),
    exact=True,
    linear=True,
    batch=leading,
    formula="g put back at the places",
)
def picked(xp: Any, input: Array, index: Array, axes: int, apart: bool) -> Array:
    """The elements of each plane at so many places of it; the last `axes` axes are the plane."""
    planes, size = _planes(input.shape, axes)
    return xp.take(input.reshape(-1), _flat(xp, index, planes, size)).reshape(index.shape)


@internal(
    vjp("g at the places", input=lambda g, index, axes, apart: picked(g, index, axes, apart)),
    spec=lambda input, shape: input.with_(shape=shape),
    linear=True,
    batch=planes_of("shape"),
)
def put_back(xp: Any, input: Array, index: Array, shape: Ints, axes: int, apart: bool) -> Array:
    """Planes of zeros with elements added at their places; apart: no place comes twice."""
    planes, size = _planes(shape, axes)
    out = xp.empty((planes, size), input.dtype)
    count = index.size // max(planes, 1)

    def put(rows: Array, where: Array, values: Array) -> None:
        places = _flat(xp, where, rows.shape[0], size)
        if apart:
            rows.fill(0)
            rows.reshape(-1)[places] = values
        else:
            rows[...] = summed(xp, places, values, rows.size).reshape(rows.shape)

    each_block(put, out, index.reshape(planes, count), input.reshape(planes, count))
    return out.reshape(shape)
