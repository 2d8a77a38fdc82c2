"""Views that show elements more than once: windows along an axis, memory by size and stride."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import along
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import internal, view
from gradwire_engine.ops.accumulate import summed
from gradwire_engine.ops.expand import contiguous
from gradwire_engine.ops.expand import sum as summed_over
from gradwire_engine.ops.views import shows_part, zeros_of
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dim, Ints
from gradwire_engine.spec import Shape


@shows_part
@view(
    vjp(
        input=lambda g, dimension, size, step, input_spec: folded(
            g, input_spec.shape, dimension, size, step
        )
    ),
    formula="g summed over the windows that an element is in",
)
def unfold(xp: Any, input: Array, dimension: Dim, size: int, step: int) -> Array:
    """All windows of a size along an axis, step apart; the window is the last axis."""
    length = input.shape[dimension] if input.ndim else 1
    if size > length or size < 0 or step < 1:
        raise invalid_argument(
            f"unfold: windows of size {size}, {step} apart, on an axis of size {length}",
            "0 <= size <= the axis' size and step > 0 must hold",
        )
    seen = input if input.ndim else input.reshape(1)
    shape, strides = list(seen.shape), list(seen.strides)
    shape[dimension] = (length - size) // step + 1
    stride = strides[dimension]
    strides[dimension] = stride * step
    if not input.ndim:
        shape, strides = [], []
    return xp.lib.stride_tricks.as_strided(seen, (*shape, size), (*strides, stride))


def _folded_in_each(b: Any) -> Any:
    if not b["shape"]:
        return summed_over(b.front("input"), (1,))
    return along("dimension", sized="shape")(b)


@internal(
    vjp(input=lambda g, dimension, size, step: unfold(g, dimension, size, step)),
    spec=lambda input, shape: input.with_(shape=shape),
    grad_name="UnfoldBackwardBackward0",
    formula="the windows of g",
    batch=_folded_in_each,
)
def folded(xp: Any, input: Array, shape: Ints, dimension: int, size: int, step: int) -> Array:
    """Windows along an axis added back to where they were taken from."""
    out = xp.zeros(shape, input.dtype)
    if not shape:
        return input.sum().reshape(())
    if not input.size:
        return out
    count, before = input.shape[dimension], (slice(None),) * dimension
    stop = step * (count - 1) + 1
    if size <= count:  # one place of all windows at a time, or one window, whichever are fewer
        for k in range(size):
            out[(*before, slice(k, k + stop, step))] += input[..., k]
        return out
    moved = xp.moveaxis(input, -1, dimension + 1)
    for i in range(count):
        out[(*before, slice(i * step, i * step + size))] += moved[(*before, i)]
    return out


def _reach(asked: str, shape: Shape, size: Ints, stride: Ints, offset: int) -> None:
    """Refuse strides that lead out of a tensor's own elements."""
    if len(size) != len(stride) or any(n < 0 for n in (*size, *stride, offset)):
        raise invalid_argument(
            f"{asked}: size {list(size)}, stride {list(stride)}, storage_offset {offset}",
            "one stride for each size, none of them negative",
        )
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if 0 not in size and last >= prod(shape):
        raise invalid_argument(
            f"{asked}: size {list(size)} with stride {list(stride)} from {offset} reaches beyond "
            f"the tensor's {prod(shape)} elements",
            "only a tensor's own elements can be seen",
        )


def _strided(b: Any) -> dict[str, Any]:
    """Size and stride of examples that lie one behind the other."""
    shape = b["shape"] if "shape" in b.call.attributes else b.operand("input").shape
    return {"size": (b.size, *b["size"]), "stride": (prod(shape), *b["stride"])}


def _seen_back(g: Any, shape: Shape, size: Ints, stride: Ints, offset: int | None) -> Any:
    if 0 in size or 0 in shape:
        return zeros_of(g, shape)
    return strided_sum(g, shape, size, stride, offset)


@shows_part
@view(
    vjp(
        input=lambda g, size, stride, storage_offset, input_spec: _seen_back(
            g, input_spec.shape, size, stride, storage_offset
        )
    ),
    batch=lambda b: b.again(input=contiguous(b.front("input")), **_strided(b)),
    formula="g summed where elements are seen more than once",
    by_strides=True,
    public=False,
)
def as_strided(
    xp: Any, input: Array, size: Ints, stride: Ints, storage_offset: int | None = None
) -> Array:
    """See a row-major tensor's elements, in their order in memory, by size and stride.

    Offsets count from the tensor's first element: what lies outside it is never seen, but by the
    op of that name in memory.py.
    """
    offset = storage_offset or 0
    _reach("as_strided", input.shape, size, stride, offset)
    if not input.flags.c_contiguous:
        raise invalid_argument("as_strided: the tensor is not row-major", "use contiguous() first")
    flat = input.reshape(-1)[offset:]
    steps = tuple(s * input.itemsize for s in stride)
    return xp.lib.stride_tricks.as_strided(flat, size, steps)


@internal(
    vjp(
        input=lambda g, size, stride, storage_offset: as_strided(
            contiguous(g), size, stride, storage_offset
        )
    ),
    spec=lambda input, shape: input.with_(shape=shape),
    grad_name="AsStridedBackward0",
    keeps_result=lambda operands: True,
    formula="g seen by size and stride",
    batch=lambda b: b.again(input=b.front("input"), shape=(b.size, *b["shape"]), **_strided(b)),
)
def strided_sum(
    xp: Any, input: Array, shape: Ints, size: Ints, stride: Ints, storage_offset: int | None
) -> Array:
    """The elements of a strided view added back to the places that it showed."""
    count = prod(shape)
    places = as_strided.kernel(xp, xp.arange(count), size, stride, storage_offset)
    return summed(xp, places, input, count).reshape(shape)
