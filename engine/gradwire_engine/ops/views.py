"""Views of a part: select, slice, diagonal, windows; and their adjoint, which puts a part back."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error
from gradwire_engine.families import composite, primitive, view
from gradwire_engine.op import Primitive
from gradwire_engine.ops.accumulate import summed
from gradwire_engine.ops.expand import contiguous
from gradwire_engine.ops.known import whole_number
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Data, Dim, Ints, axis
from gradwire_engine.spec import Shape, Spec

PARTS: dict[str, Primitive] = {}
"""The views that show a part of a tensor, by name: what `placed` and `replaced` can undo."""


def _seen(g: Any, part: str, where: Any) -> Any:
    """The part of a gradient that a view shows; gradients may lie in memory in any way."""
    return PARTS[part](contiguous(g) if part == "as_strided" else g, *where)


def _part(op: Primitive) -> Primitive:
    PARTS[op.name] = op
    return op


@primitive(
    vjp(input=lambda g, part, where: _seen(g, part, where)),
    spec=lambda input, shape: input.with_(shape=shape),
    exact=True,
    public=False,
    formula="the part of g",
)
def placed(xp: Any, input: Array, shape: Ints, part: str, where: Data) -> Array:
    """Zeros of a shape, but for the part that a view shows, which is the input."""
    out = xp.zeros(shape, input.dtype)
    PARTS[part].kernel(xp, out, *where)[...] = input
    return out


def _replaceable(input: Spec, src: Spec, part: str, where: Data) -> Spec:
    from_view = PARTS[part].infer({"input": input, **_named(part, where)}).outputs
    assert isinstance(from_view, Spec)
    if from_view.shape != src.shape:
        raise error(
            "shape_mismatch",
            f"{part}_scatter: src has shape {list(src.shape)}, the part it goes to "
            f"{list(from_view.shape)}",
            "give src the shape of that part",
        )
    return input


def _named(part: str, where: Data) -> dict[str, Any]:
    return dict(zip(list(PARTS[part].signature.by_name)[1:], where, strict=True))


@primitive(
    vjp(
        input=lambda g, src_spec, part, where: replaced(
            g, zeros_of(g, src_spec.shape), part, where
        ),
        src=lambda g, part, where: _seen(g, part, where),
    ),
    spec=_replaceable,
    exact=True,
    public=False,
    grad_name=lambda named: f"{named['part'].title().replace('_', '')}ScatterBackward0",
    formula="input: g with the part set to 0; src: the part of g",
)
def replaced(xp: Any, input: Array, src: Array, part: str, where: Data) -> Array:
    """The input with the part that a view shows replaced by src."""
    out = xp.array(input, order="C")
    PARTS[part].kernel(xp, out, *where)[...] = src
    return out


@primitive(
    vjp(input=lambda g, input_spec: zeros_of(g, input_spec.shape)),
    spec=lambda input, shape: input.with_(shape=shape),
    exact=True,
    public=False,
)
def zeros_of(xp: Any, input: Array, shape: Ints) -> Array:
    """Zeros of a shape in the input's dtype."""
    return xp.zeros(shape, input.dtype)


@_part
@view(
    vjp(
        input=lambda g, dim, index, input_spec: placed(g, input_spec.shape, "select", (dim, index))
    ),
    formula="zeros but for the place selected, which is g",
)
def select(xp: Any, input: Array, dim: Dim, index: int) -> Array:
    """The slice of a tensor at one index of an axis, which is dropped."""
    if not input.ndim:
        raise error(
            "invalid_argument",
            "select: an index into a tensor without axes",
            "use item() to get its number",
            raised=IndexError,
        )
    size = input.shape[dim]
    if not -size <= index < size:
        raise error(
            "invalid_argument",
            f"select: index {index} is out of bounds for dimension {dim} with size {size}",
            f"it must be between {-size} and {size - 1}" if size else "the axis is empty",
            raised=IndexError,
        )
    return input[(slice(None),) * dim + (index, ...)]


@_part
@view(
    vjp(
        input=lambda g, dim, start, end, step, input_spec: placed(
            g, input_spec.shape, "slice", (dim, start, end, step)
        )
    ),
    formula="zeros but for the slice, which is g",
)
def slice_(
    xp: Any,
    input: Array,
    dim: Dim = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Array:
    """Every step-th element of an axis from start up to end; ends beyond the axis are cut off."""
    if not input.ndim:
        raise error("invalid_argument", "slice: the tensor has no axes", raised=IndexError)
    if step < 1:
        raise error(
            "invalid_argument",
            f"slice: step must be greater than zero, got {step}",
            "flip() the axis to run backwards",
            raised=ValueError,
        )
    return input[(slice(None),) * dim + (slice(start, end, step),)]


@composite()
def narrow(input: Array, dim: int, start: int, length: int) -> Array:
    """The part of an axis that begins at start and has a length."""
    if not input.ndim:
        raise error("invalid_argument", "narrow: the tensor has no axes", "reshape it to (1,)")
    place = axis("narrow", dim, input.ndim)
    size = input.shape[place]
    first = start + size if start < 0 else start
    if length < 0 or not 0 <= first <= size or first + length > size:
        raise error(
            "invalid_argument",
            f"narrow: start {start} with length {length} leaves the axis, which has size {size}",
            "0 <= start and start + length <= size must hold",
            raised=IndexError if not 0 <= first <= size else RuntimeError,
        )
    return slice_(input, place, first, first + length, 1)


@composite(name="narrow")
def _narrow_from(input: Array, dim: int, start: Array, length: int) -> Array:
    """The part of an axis that begins where a scalar tensor says."""
    return narrow(input, dim, whole_number("narrow", start), length)


def _diagonal_view(xp: Any, input: Array, offset: int, dim1: int, dim2: int) -> Array:
    """The diagonal as a view that can be written, which NumPy's own is not."""
    order = [i for i in range(input.ndim) if i not in (dim1, dim2)]
    seen = xp.transpose(input, (*order, dim1, dim2))
    seen = seen[..., max(-offset, 0) :, max(offset, 0) :]
    count = min(seen.shape[-2:])
    *steps, down, right = seen.strides
    return xp.lib.stride_tricks.as_strided(seen, (*seen.shape[:-2], count), (*steps, down + right))


@_part
@view(
    vjp(
        input=lambda g, offset, dim1, dim2, input_spec: placed(
            g, input_spec.shape, "diagonal", (offset, dim1, dim2)
        )
    ),
    formula="zeros but for the diagonal, which is g",
)
def diagonal(xp: Any, input: Array, offset: int = 0, dim1: Dim = 0, dim2: Dim = 1) -> Array:
    """The diagonal of two axes, as the last axis."""
    dim1, dim2 = (axis("diagonal", d, input.ndim) for d in (dim1, dim2))
    if input.ndim < 2 or dim1 == dim2:
        raise error(
            "invalid_argument",
            f"diagonal: dims {dim1} and {dim2} of a tensor with {input.ndim} axes",
            "it takes two different axes",
        )
    return _diagonal_view(xp, input, offset, dim1, dim2)


@composite(name="linalg.diagonal")
def _linalg_diagonal(A: Array, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """The diagonals of the matrices in the last two axes."""
    return diagonal(A, offset, axis("diagonal", dim1, A.ndim), axis("diagonal", dim2, A.ndim))


@_part
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
        raise error(
            "invalid_argument",
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


@primitive(
    vjp(input=lambda g, dimension, size, step: unfold(g, dimension, size, step)),
    spec=lambda input, shape: input.with_(shape=shape),
    public=False,
    formula="the windows of g",
)
def folded(xp: Any, input: Array, shape: Ints, dimension: int, size: int, step: int) -> Array:
    """Windows along an axis added back to where they were taken from."""
    out = xp.zeros(shape, input.dtype)
    if not shape:
        return input.sum().reshape(())
    if not input.size:
        return out
    stop = step * (input.shape[dimension] - 1) + 1
    for k in range(size):
        out[(slice(None),) * dimension + (slice(k, k + stop, step),)] += input[..., k]
    return out


def _reach(asked: str, shape: Shape, size: Ints, stride: Ints, offset: int) -> None:
    """Refuse strides that lead out of a tensor's own elements."""
    if len(size) != len(stride) or any(n < 0 for n in (*size, *stride, offset)):
        raise error(
            "invalid_argument",
            f"{asked}: size {list(size)}, stride {list(stride)}, storage_offset {offset}",
            "one stride for each size, none of them negative",
        )
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if 0 not in size and last >= prod(shape):
        raise error(
            "invalid_argument",
            f"{asked}: size {list(size)} with stride {list(stride)} from {offset} reaches beyond "
            f"the tensor's {prod(shape)} elements",
            "only a tensor's own elements can be seen",
        )


@_part
@view(
    vjp(
        input=lambda g, size, stride, storage_offset, input_spec: strided_sum(
            g, input_spec.shape, size, stride, storage_offset
        )
    ),
    formula="g summed where elements are seen more than once",
)
def as_strided(
    xp: Any, input: Array, size: Ints, stride: Ints, storage_offset: int | None = None
) -> Array:
    """See a row-major tensor's elements, in their order in memory, by size and stride.

    Offsets count from the tensor's first element: what lies outside it is never seen.
    """
    offset = storage_offset or 0
    _reach("as_strided", input.shape, size, stride, offset)
    if not input.flags.c_contiguous:
        raise error(
            "invalid_argument", "as_strided: the tensor is not row-major", "use contiguous() first"
        )
    flat = input.reshape(-1)[offset:]
    steps = tuple(s * input.itemsize for s in stride)
    return xp.lib.stride_tricks.as_strided(flat, size, steps)


@primitive(
    vjp(
        input=lambda g, size, stride, storage_offset: as_strided(
            contiguous(g), size, stride, storage_offset
        )
    ),
    spec=lambda input, shape: input.with_(shape=shape),
    public=False,
    formula="g seen by size and stride",
)
def strided_sum(
    xp: Any, input: Array, shape: Ints, size: Ints, stride: Ints, storage_offset: int | None
) -> Array:
    """The elements of a strided view added back to the places that it showed."""
    count = prod(shape)
    places = as_strided.kernel(xp, xp.arange(count), size, stride, storage_offset)
    return summed(xp, places, input, count).reshape(shape)


@view(vjp(input=lambda g: g), formula="g", public=False)
def alias(xp: Any, input: Array) -> Array:
    """The tensor itself, as a view."""
    return input[...]


@composite()
def detach(input: Array) -> Array:
    """The same elements without history: no gradient flows through."""
    return input.detach()
