"""Images read at places between their elements: which elements those are, and their values."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.batch.samples import as_samples
from gradwire_engine.families import internal
from gradwire_engine.kernels.grid_sampling import reflected
from gradwire_engine.ops.accumulate import summed_rows
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Arrays, Ints
from gradwire_engine.spec import Spec, int64


@internal(spec=lambda input: input.with_(dtype=int64), batch=leading)
def cells(xp: Any, input: Array, nearest: bool) -> Array:
    """The element before each place, or the nearest one; of two as near the even one."""
    found = xp.rint(input) if nearest else xp.floor(input)
    # what is no number or far away lies outside any image
    inside = xp.abs(found) < 2.0**31
    return xp.where(inside, found, -(2.0**31)).astype(xp.int64)


@internal(
    spec=lambda cells: Spec(cells[0].shape, int64, ""),
    batch=lambda b: b.again(cells=tuple(map(b.fronted, b.operand("cells")))),
)
def tap_places(
    xp: Any, cells: Arrays, offsets: Ints, size: Ints, padding: str, corners: bool
) -> Array:
    """The flat place of the elements so far from given cells, -1 where there is none.

    padding: what stands beyond the edges: zeros, or by border and reflection other elements.
    """
    flat: Any = 0
    outside: Any = False
    for cell, offset, n in zip(cells, offsets, size, strict=True):
        place = cell + offset
        if padding == "border":
            place = xp.clip(place, 0, n - 1)
        elif padding == "reflection":
            place = reflected(xp, place, n, corners)
        else:
            outside = outside | (place < 0) | (place >= n)
        flat = flat * n + place
    return flat if outside is False else xp.where(outside, -1, flat)


@internal(
    vjp(input=lambda g, places, input_spec: untapped(g, places, input_spec.shape)),
    spec=lambda input, places: input.with_(shape=(*input.shape[:2], places.shape[1])),
    exact=True,
    linear=True,
    batch=as_samples(),
    formula="g added at the places",
)
def tapped(xp: Any, input: Array, places: Array) -> Array:
    """Of images (N, C, ...) the elements at flat places (N, P), for all channels; 0 at -1."""
    size = prod(input.shape[2:])
    rows = input.reshape(*input.shape[:2], size)
    out = xp.empty((*input.shape[:2], places.shape[1]), input.dtype)
    for sample in range(input.shape[0]):
        at = places[sample]
        part = xp.take(rows[sample], xp.maximum(at, 0), axis=1)
        out[sample] = xp.where(at < 0, xp.zeros((), input.dtype), part)
    return out


@internal(
    vjp("g at the places", input=lambda g, places: tapped(g, places)),
    spec=lambda input, shape: input.with_(shape=shape),
    linear=True,
    batch=as_samples("shape"),
)
def untapped(xp: Any, input: Array, places: Array, shape: Ints) -> Array:
    """Elements added to images of zeros at flat places; those at -1 are left out."""
    size = prod(shape[2:])
    out = xp.empty((*shape[:2], size), input.dtype)
    for sample in range(shape[0]):
        at = xp.where(places[sample] < 0, size, places[sample])
        rows = xp.ascontiguousarray(input[sample].T)
        out[sample] = summed_rows(xp, at, rows, size + 1)[:size].T
    return out.reshape(shape)


@internal(vjp("0", input=lambda g: g * 0), batch=leading)
def level(xp: Any, input: Array) -> Array:
    """A 1 for each element, whatever it is: what depends on an input, with a slope of zero."""
    return xp.ones(input.shape, input.dtype)
