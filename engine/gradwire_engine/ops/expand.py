"""Broadcasting and its undoing: expand, sum, reshape, and the sum that fits a gradient."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.errors import error, shape_mismatch
from gradwire_engine.families import composite, internal, reduction
from gradwire_engine.families import view as view_family
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.kernels.sums import OF_BLAS, summed
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dims, Ints, axes
from gradwire_engine.spec import INTEGER, DType, Shape, int64


def with_kept_dims(g: Any, dim: Dims | None, shape: Shape) -> Any:
    """A reduction's cotangent (or result) with the folded axes back as size 1."""
    gone = axes("sum", dim, len(shape))
    kept = tuple(1 if i in gone else size for i, size in enumerate(shape))
    return g if g.shape == kept else reshape(g, kept)


def int_to_int64(dtype: DType) -> DType:
    """Integers and bools are summed as int64."""
    return int64 if dtype.category <= INTEGER else dtype


def _expanded(shape: Shape, size: Ints) -> Shape:
    lead = len(size) - len(shape)
    if lead < 0:
        raise shape_mismatch(
            f"expand: {list(size)} has fewer axes than the tensor, {list(shape)}",
            "give at least as many sizes as the tensor has axes",
        )
    found = []
    for i, wanted in enumerate(size):
        have = shape[i - lead] if i >= lead else 1
        wanted = have if wanted == -1 and i >= lead else wanted
        if wanted < 0 or (have != 1 and wanted != have):
            raise shape_mismatch(
                f"expand: a tensor of shape {list(shape)} does not expand to {list(size)}: "
                f"at axis {i} it has size {have}",
                "only axes of size 1, and new ones in front, can be expanded",
            )
        found.append(wanted)
    return tuple(found)


@view_family(vjp(input=lambda g: g), formula="g summed over the expanded axes")
def expand(xp: Any, input: Array, size: Ints) -> Array:
    """View axes of size 1 as larger ones; -1 keeps a size."""
    return xp.broadcast_to(input, _expanded(input.shape, size))


def spread_out(g: Any, dim: Dims | None, shape: Shape) -> Any:
    """A reduction's cotangent or result, expanded to the shape that it was reduced from."""
    return expand(with_kept_dims(g, dim, shape), shape)


@one_pass(spread_out)
def spread(xp: Any, g: Array, dim: Dims | None, shape: Shape) -> Array:
    """A reduction's cotangent, the same for all elements that were folded into one."""
    kept = g.reshape([1 if i in dim else size for i, size in enumerate(shape)]) if dim else g
    if prod(shape) > _SMALL:
        return xp.broadcast_to(kept, shape)
    made = xp.empty(shape, g.dtype)  # a view takes as long to make, and longer to multiply with
    made[...] = kept
    return made


_SMALL = 1 << 15


@reduction(
    vjp(input=lambda g, dim, input_spec: spread(g, dim, input_spec.shape)),
    compute=int_to_int64,
    grad_name=lambda named: "SumBackward0" if named["dim"] is None else "SumBackward1",
    formula="g, expanded over the folded axes",
    linear=True,
)
def sum(
    xp: Any,
    input: Array,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Array:
    """Sum over some axes, or over all."""
    return summed(input, dim, keepdim)


@lru_cache(maxsize=4096)
def viewable(shape: Shape, strides: tuple[int, ...], size: Shape) -> bool:
    """Whether an array with these strides (bytes) can be seen in another shape without a copy."""
    if not prod(shape):
        return True
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    new = [n for n in size if n != 1]
    while old:
        count, at = old[0][0], 1
        while at < len(old) and old[at - 1][1] == old[at][0] * old[at][1]:
            count *= old[at][0]
            at += 1
        while count > 1:
            if not new or count % new[0]:
                return False
            count //= new.pop(0)
        old = old[at:]
    return True


@lru_cache(maxsize=4096)
def resolved_size(asked: str, shape: Shape, size: Ints) -> Shape:
    """A requested size with its -1 worked out; it must hold just as many elements."""
    total, known = prod(shape), prod(n for n in size if n != -1)
    unknown = size.count(-1)
    if unknown > 1 or any(n < -1 for n in size):
        raise error(
            "shape_mismatch" if unknown <= 1 else "invalid_argument",
            f"{asked}: {list(size)} is not a shape; sizes are >= 0 and at most one is -1",
        )
    if (unknown and (not known or total % known)) or (not unknown and known != total):
        raise shape_mismatch(
            f"{asked}: shape {list(size)} is invalid for a tensor of shape {list(shape)} "
            f"with {total} elements",
            "the sizes must multiply to the number of elements; -1 may stand for one of them",
        )
    return tuple(total // known if n == -1 else n for n in size)


@view_family(
    vjp(input=lambda g, input_spec: reshape(g, input_spec.shape)),
    formula="g in the input's shape",
    by_strides=True,
)
def view(xp: Any, input: Array, size: Ints) -> Array:
    """See a tensor in another shape, sharing memory; an error where that takes a copy."""
    size = resolved_size("view", tuple(input.shape), size)
    if not input.flags.c_contiguous and not viewable(input.shape, input.strides, size):
        raise shape_mismatch(
            f"view: size {list(size)} is not compatible with shape {list(input.shape)} "
            f"and strides {[s // input.itemsize for s in input.strides]}",
            "use reshape, which copies where it has to",
        )
    return input.reshape(size)


@internal(
    vjp("g", input=lambda g: g),
    grad_name="CloneBackward0",
    exact=True,
    batch=leading,
    linear=True,
)
def contiguous_copy(xp: Any, input: Array) -> Array:
    """Copy a tensor into row-major order."""
    return xp.array(input, order="C")


@internal(
    vjp("g in the input's shape", input=lambda g, input_spec: reshape(g, input_spec.shape)),
    spec=lambda input, size: input.with_(shape=size),
    exact=True,
    batch=lambda b: b.again(input=b.front("input"), size=(b.size, *b["size"])),
    linear=True,
)
def unsafe_view(xp: Any, input: Array, size: Ints) -> Array:
    """Give a copy that nobody else has another shape: it counts as a tensor of its own."""
    return input.reshape(size)


def row_major(value: Any) -> bool:
    """Whether an array or tensor lies in row-major order without gaps."""
    return _without_gaps(tuple(value.shape), value.strides, value.dtype.itemsize)


@lru_cache(maxsize=4096)
def _without_gaps(shape: Shape, strides: tuple[int, ...], itemsize: int) -> bool:
    step = itemsize
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != step and 0 not in shape:
            return False
        step *= size
    return True


@composite()
def contiguous(input: Array) -> Array:
    """The tensor itself where it is row-major, else a row-major copy."""
    return input if row_major(input) else contiguous_copy(input)


@composite()
def reshape(input: Array, shape: Ints) -> Array:
    """Give a tensor another shape: a view where that is possible, else a copy."""
    if type(input) is np.ndarray:  # in a rule, on the walk back
        return input.reshape(shape)
    size = resolved_size("reshape", input.shape, shape)
    if not viewable(input.shape, input.strides, size):
        return unsafe_view(contiguous_copy(input), size)
    seen = view(input, size)
    return seen if row_major(input) else called("ReshapeAliasBackward0", seen)


def called(label: str, result: Any) -> Any:
    """A result whose node has the name that torch's kernels give it."""
    rename = getattr(result, "rename_node", None)
    if rename is not None:
        rename(label)
    return result


def sum_to_shape(g: Any, shape: Shape) -> Any:
    """Sum a gradient over the axes that broadcasting added or stretched."""
    gone = _stretched(tuple(g.shape), shape)
    if gone is None:
        return expand(g, shape)  # a rule gave a scalar for all elements
    if not gone:
        return reshape(g, shape)
    if type(g) is np.ndarray and g.dtype in OF_BLAS:  # as the op does, on its way there
        return summed(g, gone, True).reshape(shape)
    if len(g.shape) == len(shape):
        return sum(g, gone, True)
    return reshape(sum(g, gone), shape) if shape else sum(g)


@lru_cache(maxsize=4096)
def _stretched(have: Shape, shape: Shape) -> tuple[int, ...] | None:
    """The axes that broadcasting a shape to another added or stretched; None: it gives no such."""
    lead = len(have) - len(shape)
    if lead < 0:
        return None
    gone = tuple(range(lead))
    for i, n in enumerate(shape, lead):
        if have[i] != n:
            if n != 1:
                return None
            gone += (i,)
    return gone
