"""as_strided: the memory that a tensor is a view of, seen by size and stride.

Offsets count in that memory, as in torch: a view may show what lies beside the elements of the view
it was made of. What lies in the tensor itself is a view of it like any other. What lies outside is
one of the whole storage, and never of more; its gradient goes to those places that the tensor has.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from gradwire_engine.apply import planned, record
from gradwire_engine.arrays import Array
from gradwire_engine.errors import error
from gradwire_engine.families import composite, primitive
from gradwire_engine.mode import local, no_grad
from gradwire_engine.ops.expand import contiguous
from gradwire_engine.ops.limits import clamp_min
from gradwire_engine.ops.views import replaced, zeros_of
from gradwire_engine.ops.windows import as_strided as strided
from gradwire_engine.ops.windows import strided_sum
from gradwire_engine.overlap import overlaps, start
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Data, Ints
from gradwire_engine.spec import Spec, dtype_of
from gradwire_engine.tensor import Tensor, View


class Place(NamedTuple):
    """Where a tensor's elements lie in its storage, counted in elements."""

    shape: Ints
    stride: Ints
    offset: int
    size: int


def _whole_gradient(g: Any, size: Ints, stride: Ints, offset: int, place: Any) -> Any:
    """What arrives at each place of the storage, seen where the tensor lies.

    Elements that share a place share what arrives there.
    """
    own = Place(*place)
    whole = strided_sum(g, (own.size,), size, stride, offset)
    if any(n > 1 and not step for n, step in zip(own.shape, own.stride, strict=True)):
        shown = strided_sum(zeros_of(g, own.shape) + 1, (own.size,), *own[:3])
        whole = whole / clamp_min(shown, 1)
    return strided(whole, *own[:3])


@primitive(
    vjp(
        input=lambda g, size, stride, storage_offset, place: _whole_gradient(
            g, size, stride, storage_offset, place
        )
    ),
    spec=lambda input, size: Spec(tuple(size), input.dtype, ""),
    name="as_strided_outside",
    public=False,
    grad_name="AsStridedBackward0",
)
def _outside(
    xp: Any, input: Array, size: Ints, stride: Ints, storage_offset: int, place: Data
) -> Array:
    """The node of a view that shows more of the storage than its input: it is never run alone."""
    raise error(
        "untraceable", "as_strided: it reaches out of the tensor", "see the tensor it is a view of"
    )


@composite(name="as_strided", by_place=True)
def as_strided(input: Array, size: Ints, stride: Ints, storage_offset: int | None = None) -> Array:
    """See a tensor's memory by size and stride; offsets count from where its storage begins."""
    place = _place(input)
    if place is None:
        return strided(input, size, stride, storage_offset)
    offset = place.offset if storage_offset is None else storage_offset
    if _own(place, size, stride, offset):
        return strided(input, size, stride, offset - place.offset)
    return _beside(input, tuple(size), tuple(stride), offset, place)


@composite(numbers=(), by_place=True)
def as_strided_scatter(
    input: Array, src: Array, size: Ints, stride: Ints, storage_offset: int | None = None
) -> Array:
    """A copy with the elements that as_strided would show replaced by src."""
    place = _place(input)
    if place is None or overlaps(input.array):
        return replaced(input, src, "as_strided", (tuple(size), tuple(stride), storage_offset))
    offset = place.offset if storage_offset is None else storage_offset
    if _own(place, size, stride, offset):
        seen = (tuple(size), tuple(stride), offset - place.offset)
        return replaced(input, src, "as_strided", seen)
    whole = strided_sum(contiguous(input), (place.size,), *place[:3])
    return strided(replaced(whole, src, "as_strided", (size, stride, offset)), *place[:3])


def _place(input: Any) -> Place | None:
    """Where a view lies; None for what is no view of a row-major storage of one's own dtype."""
    if type(input) is not Tensor or input.view is None:
        return None
    seen, whole = input.array, input.storage.array
    if not hasattr(seen, "strides") or not whole.flags.c_contiguous:
        return None
    if seen.dtype != whole.dtype:
        return None
    step, first = seen.itemsize, start(seen) - start(whole)
    strides = tuple(s // step for s in seen.strides)
    return Place(seen.shape, strides, first // step, whole.size)


def _own(place: Place, size: Ints, stride: Ints, offset: int) -> bool:
    """Whether nothing but elements of the tensor is asked for, which lie row after row."""
    row_major = tuple(prod(place.shape[i + 1 :]) for i in range(len(place.shape)))
    lying = all(
        n == 1 or s == r for n, s, r in zip(place.shape, place.stride, row_major, strict=True)
    )
    if not lying or len(size) != len(stride) or any(n < 0 for n in (*size, *stride)):
        return lying
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    return 0 in size or place.offset <= offset <= last < place.offset + prod(place.shape)


def _beside(input: Tensor, size: Ints, stride: Ints, offset: int, place: Place) -> Tensor:
    """A view of the whole storage, with the input's gradient where it has part in it."""
    old, whole = input.view, input.storage.array
    if old is None or (old.base is not None and old.base.view is not None):
        raise error(
            "invalid_argument",
            "as_strided: it reaches out of a view of a detached view",
            "see the tensor that both are views of",
        )
    with no_grad():
        spec = Spec(tuple(whole.shape), dtype_of(whole.dtype), input.device)
        seen = strided(Tensor.sharing(input.storage, spec, None, None), size, stride, offset)
    call, flat = planned(_outside, (input, size, stride, offset, tuple(place)))
    node, _ = record(call, flat, local.state)
    made = View(seen.view.chain, old.base, old.creation, input.storage.version, 0)
    made.array, made.source = seen.array, whole
    found = Tensor.sharing(input.storage, seen.spec, node, made)
    found.flags |= seen.flags
    return found
