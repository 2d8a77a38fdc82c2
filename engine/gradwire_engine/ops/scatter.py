"""Writing single elements, at places of an index tensor or a mask: scatter, put, masked_scatter."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import along, parts
from gradwire_engine.errors import dtype_mismatch, shape_mismatch
from gradwire_engine.families import composite, internal, primitive
from gradwire_engine.laid import LIKE_FIRST
from gradwire_engine.ops.accumulate import from_front, in_range
from gradwire_engine.ops.advanced import index as index_at
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.creation import fits
from gradwire_engine.ops.expand import expand, reshape
from gradwire_engine.ops.gather import (
    check_index,
    check_whole,
    corner,
    gather,
    gather_sum,
    one_by_one_places,
    raised,
    take,
    take_sum,
)
from gradwire_engine.ops.join import cat
from gradwire_engine.ops.views import placed, zeros_of
from gradwire_engine.promote import Weak, broadcast_shapes
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dim
from gradwire_engine.spec import Spec, bool_, dtype_of, int64


def same_dtype(asked: str, input: Spec, src: Spec | Weak) -> None:
    """What is written must have the dtype of what it is written to."""
    if isinstance(src, Spec) and src.dtype is not input.dtype:
        raise dtype_mismatch(
            f"{asked}: the tensor is {input.dtype.name}, what is written {src.dtype.name}",
            "convert one of them",
        )


def scatter_fits(asked: str, input: Spec, dim: int, index: Spec, src: Spec | Weak) -> Spec:
    """The spec of a scatter's result: the input's; index and src must fit it."""
    same_dtype(asked, input, src)
    check_index(asked, input.shape, dim, index)
    if isinstance(src, Spec):
        check_index(asked, src.shape, dim, index, limited=False)
    return input


def padded(g: Any, like: Spec) -> Any:
    """The gradient of what was scattered: of a source larger than the index, only a corner."""
    for i, n in enumerate(like.shape):
        if g.shape[i] != n:
            shape = (*g.shape[:i], n, *g.shape[i + 1 :])
            g = placed(g, shape, "slice", (i, 0, g.shape[i], 1))
    return g


@internal(
    vjp(
        "input: g with zeros at the places written; src: g there",
        input=lambda g, index, dim: scatter_at(g, dim, index, 0),
        src=lambda g, index, dim, src_spec: padded(gather(g, dim, index), src_spec),
    ),
    spec=lambda input, dim, index, src: scatter_fits("scatter", input, dim, index, src),
    fallible=True,
    exact=True,
    grad_name=lambda named: f"ScatterBackward{int(isinstance(named['src'], Weak))}",
    batch=along("dim"),
)
def scatter_at(xp: Any, input: Array, dim: Dim, index: Array, src: Array) -> Array:
    """The input with elements of src written along an axis where an index tensor says."""
    out = xp.array(input, order="C")
    if index.size:
        seen, places = out.reshape(raised(out.shape)), index.reshape(raised(index.shape))
        in_range("scatter", places, seen.shape[dim], dim=dim, negative=False, raised=RuntimeError)
        values = src if hasattr(src, "dtype") else fits("scatter", src, dtype_of(out.dtype))
        if getattr(src, "shape", ()):
            values = src[corner(places.shape)]
        part = seen[corner(places.shape, without=dim)]
        xp.put_along_axis(part, places, values, dim)
    return out


@primitive(
    vjp(
        "input: g; src: g at the places written",
        input=lambda g: g,
        src=lambda g, index, dim, src_spec: padded(gather(g, dim, index), src_spec),
    ),
    spec=lambda input, dim, index, src: scatter_fits("scatter_add", input, dim, index, src),
    inplace=True,
    fallible=True,
    batch=along("dim"),
    linear=True,
)
def scatter_add(xp: Any, input: Array, dim: Dim, index: Array, src: Array) -> Array:
    """Add src along an axis where an index tensor says; places may repeat."""
    if not index.size:
        return xp.array(input, order="C")
    part = src.reshape(raised(src.shape))[corner(raised(index.shape))]
    return input + gather_sum.kernel(xp, part, index, dim, input.shape)


# among all elements


def _put_one_by_one(input: Any, index: Any, source: Any, accumulate: bool) -> Any:
    flat = reshape(input, (-1,))
    places = one_by_one_places(index, flat.shape[0])
    write = scatter_add if accumulate else scatter_at
    return reshape(write(flat, 0, places, reshape(source, (-1,))), input.shape)


def _put_fits(input: Spec, index: Spec, source: Spec) -> Spec:
    same_dtype("put", input, source)
    check_whole("put", index, int64)
    if index.size != source.size:
        raise shape_mismatch(
            f"put: {index.size} indices for {source.size} elements",
            "give one index for each element",
            raised=IndexError,
        )
    return input


@primitive(
    vjp(
        "input: g with zeros at the places written (g where added); source: g there",
        input=lambda g, index, accumulate: g if accumulate else put(g, index, take(g, index) * 0),
        source=lambda g, source, index: reshape(take(g, index), tuple(source.shape)),
    ),
    spec=_put_fits,
    inplace=True,
    fallible=True,
    lies=LIKE_FIRST,
    batch=parts(_put_one_by_one),
)
def put(xp: Any, input: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """Write, or add, elements at places counted in row-major order; negative ones from the end."""
    in_range("put", index, input.size, dim=0, negative=True)
    if accumulate:
        return input + take_sum.kernel(xp, source, index, input.shape)
    out = xp.array(input, order="C")
    out.reshape(-1)[from_front(index.reshape(-1), input.size)] = source.reshape(-1)
    return out


# by a mask


@internal(
    spec=lambda mask: mask.with_(dtype=int64),
    fallible=True,
    batch=lambda b: b.again(mask=b.front("mask"), apart=b["apart"] + 1),
)
def true_ranks(xp: Any, mask: Array, size: int, apart: int = 0) -> Array:
    """For each true element of a mask how many came before it; there may be at most `size`.

    apart: axes in front that number masks, of which each is counted by itself.
    """
    lead = mask.shape[:apart]
    found = xp.cumsum(mask.reshape(*lead, prod(mask.shape[apart:])), axis=-1, dtype=xp.int64)
    count = int(found[..., -1].max()) if found.size else 0
    if count > size:
        raise shape_mismatch(
            f"masked_scatter: the mask has {count} true elements, the source {size} elements",
            "give at least as many elements",
        )
    return xp.clip(found - 1, 0, max(size - 1, 0)).reshape(mask.shape)


@composite(grad_name="MaskedScatterBackward0", inplace=True)
def masked_scatter(input: Array, mask: Array, source: Array) -> Array:
    """Put the elements of source, one after the other, where a mask holds."""
    if input.dtype != source.dtype or getattr(mask.dtype, "numpy", mask.dtype) != bool_.numpy:
        raise dtype_mismatch(
            f"masked_scatter: the tensor is {input.dtype}, the source {source.dtype}, "
            f"the mask {mask.dtype}",
            "tensor and source must have one dtype, the mask must be bool",
        )
    shape = broadcast_shapes("masked_scatter", tuple(input.shape), tuple(mask.shape))
    seen = input if tuple(input.shape) == shape else expand(input, shape)
    held = mask if tuple(mask.shape) == shape else expand(mask, shape)
    flat = reshape(source, (-1,))
    ranks = true_ranks(held, flat.shape[0])
    if not flat.shape[0]:  # a place to look at, where nothing is to be taken
        flat = cat([flat, zeros_of(flat, (1,))], 0)
    return where(held, index_at(flat, (ranks,)), seen)
