"""Views of a part: select, slice, diagonal, windows; and their adjoint, which puts a part back."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument, shape_mismatch
from gradwire_engine.families import composite, internal, view
from gradwire_engine.laid import LIKE_FIRST
from gradwire_engine.op import Primitive
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


def shows_part(op: Primitive) -> Primitive:
    PARTS[op.name] = op
    return op


def _part_of_each(b: Any, shape: Any) -> Any:
    """Where a view shows the same part of each example: its dims are one further back."""
    part, where = b["part"], b["where"]
    if part == "as_strided":
        size, stride, offset = where
        return (b.size, *size), (prod(shape), *stride), offset
    count = {"diagonal": (1, 2)}.get(part, (0,))
    ndim = len(shape)
    return tuple(v % ndim + 1 if i in count else v for i, v in enumerate(where))


def _placed_in_each(b: Any) -> Any:
    shape = b["shape"]
    found = _part_of_each(b, shape)
    return b.again(input=b.front("input"), shape=(b.size, *shape), where=found)


def _replaced_in_each(b: Any) -> Any:
    found = _part_of_each(b, b.operand("input").shape)
    return b.again(input=b.front("input"), src=b.front("src"), where=found)


def _zeros_in_each(b: Any) -> Any:
    return b.again(input=b.front("input"), shape=(b.size, *b["shape"]))


@internal(
    vjp("the part of g", input=_seen),
    spec=lambda input, shape: input.with_(shape=shape),
    exact=True,
    grad_name=lambda named: f"{named['part'].title()}BackwardBackward0",
    batch=_placed_in_each,
    linear=True,
)
def placed(xp: Any, input: Array, shape: Ints, part: str, where: Data) -> Array:
    """Zeros of a shape, but for the part that a view shows, which is the input."""
    out = xp.zeros(shape, input.dtype)
    PARTS[part].kernel(xp, out, *where)[...] = input
    return out


def _replaceable(input: Spec, src: Spec, part: str, where: Data) -> Spec:
    named = dict(zip(PARTS[part].signature.by_name, (input, *where), strict=True))
    from_view = PARTS[part].infer(named).outputs
    assert isinstance(from_view, Spec)
    if from_view.shape != src.shape:
        raise shape_mismatch(
            f"{part}_scatter: src has shape {list(src.shape)}, the part it goes to "
            f"{list(from_view.shape)}",
            "give src the shape of that part",
        )
    return input


@internal(
    vjp(
        "input: g with the part set to 0; src: the part of g",
        input=lambda g, src_spec, part, where: replaced(
            g, zeros_of(g, src_spec.shape), part, where
        ),
        src=_seen,
    ),
    spec=_replaceable,
    exact=True,
    grad_name=lambda named: f"{named['part'].title().replace('_', '')}ScatterBackward0",
    batch=_replaced_in_each,
    linear=True,
    lies=LIKE_FIRST,
)
def replaced(xp: Any, input: Array, src: Array, part: str, where: Data) -> Array:
    """The input with the part that a view shows replaced by src."""
    out = xp.array(input, order="C")
    PARTS[part].kernel(xp, out, *where)[...] = src
    return out


@internal(spec=lambda input, shape: input.with_(shape=shape), exact=True, batch=_zeros_in_each)
def zeros_of(xp: Any, input: Array, shape: Ints) -> Array:
    """Zeros of a shape in the input's dtype, without a history."""
    return xp.zeros(shape, input.dtype)


@view(
    vjp(input=lambda g, input_spec: zeros_of(g, input_spec.shape)),
    grad_name="AsStridedBackward0",
    public=False,
    batch=_zeros_in_each,
)
def none_of(xp: Any, input: Array, shape: Ints) -> Array:
    """No elements of a tensor, in a shape: what a view without any has for a history after a
    write, from which no gradient's own history goes on.
    """
    return input.reshape(-1)[:0].reshape(shape)


@shows_part
@view(
    vjp(
        input=lambda g, dim, index, input_spec: placed(g, input_spec.shape, "select", (dim, index))
    ),
    formula="zeros but for the place selected, which is g",
)
def select(xp: Any, input: Array, dim: Dim, index: int) -> Array:
    """The slice of a tensor at one index of an axis, which is dropped."""
    check_place(input.shape, dim, index)
    return input[(slice(None),) * dim + (index, ...)]


def check_place(shape: Shape, dim: int, index: int) -> None:
    """Refuse what select can't select: a place that an axis hasn't."""
    if not shape:
        raise invalid_argument(
            "select: an index into a tensor without axes",
            "use item() to get its number",
            raised=IndexError,
        )
    size = shape[dim]
    if not -size <= index < size:
        raise invalid_argument(
            f"select: index {index} is out of bounds for dimension {dim} with size {size}",
            f"it must be between {-size} and {size - 1}" if size else "the axis is empty",
            raised=IndexError,
        )


@shows_part
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
        raise invalid_argument(
            "slice: the tensor has no axes", "reshape it to (1,)", raised=IndexError
        )
    if step < 1:
        raise invalid_argument(
            f"slice: step must be greater than zero, got {step}",
            "flip() the axis to run backwards",
            raised=ValueError,
        )
    return input[(slice(None),) * dim + (slice(start, end, step),)]


@composite()
def narrow(input: Array, dim: int, start: int, length: int) -> Array:
    """The part of an axis that begins at start and has a length."""
    if not input.ndim:
        raise invalid_argument("narrow: the tensor has no axes", "reshape it to (1,)")
    place = axis("narrow", dim, input.ndim)
    size = input.shape[place]
    first = start + size if start < 0 else start
    if length < 0 or not 0 <= first <= size or first + length > size:
        raise invalid_argument(
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


@shows_part
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
        raise invalid_argument(
            f"diagonal: dims {dim1} and {dim2} of a tensor with {input.ndim} axes",
            "it takes two different axes",
        )
    return _diagonal_view(xp, input, offset, dim1, dim2)


@composite(name="linalg.diagonal")
def _linalg_diagonal(A: Array, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """The diagonals of the matrices in the last two axes."""
    return diagonal(A, offset, axis("diagonal", dim1, A.ndim), axis("diagonal", dim2, A.ndim))


@view(vjp("g", input=lambda g: g), public=False)
def alias(xp: Any, input: Array) -> Array:
    """The tensor itself, as a view."""
    return input[...]


@composite()
def detach(input: Array) -> Array:
    """The same elements without history: no gradient flows through."""
    return input.detach()
