"""Indexing by tensors of ints: the gather that `x[i, j]` is, its adjoint, and its write."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.indices import index_added, index_written, indexed
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import composite, internal, primitive
from gradwire_engine.laid import LIKE_FIRST, Given, Lies
from gradwire_engine.ops.accumulate import from_front, in_range, steps_of, summed_rows
from gradwire_engine.ops.views import zeros_of
from gradwire_engine.order import Order, iterated
from gradwire_engine.promote import broadcast_shapes
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Arrays, Ints
from gradwire_engine.spec import Shape, Spec, int64

if TYPE_CHECKING:
    from gradwire_engine.call import Call


@primitive(
    spec=lambda input, as_tuple: (
        (Spec((input.size,), int64, ""),) * max(len(input.shape), 1)
        if as_tuple
        else Spec((input.size, len(input.shape)), int64, "")
    ),
    data_dependent=True,
    exact=True,
)
def nonzero(xp: Any, input: Array, as_tuple: bool = False) -> Array | tuple[Array, ...]:
    """The indices of the elements that are not zero: a row each, or a tensor for each axis."""
    found = xp.nonzero(input if input.ndim else input.reshape(1))
    if as_tuple:
        return found
    return xp.stack(found, axis=1) if input.ndim else xp.zeros((found[0].size, 0), xp.int64)


@composite()
def argwhere(input: Array) -> Array:
    """The indices of the elements that are not zero, a row each."""
    return nonzero(input)


def _places(indices: tuple[Any, ...]) -> list[int]:
    return [i for i, index in enumerate(indices) if index is not None]


def _side_by_side(places: list[int]) -> bool:
    return places[-1] - places[0] == len(places) - 1


def _index_shape(indices: tuple[Any, ...]) -> Shape:
    try:
        return broadcast_shapes("index", *(tuple(i.shape) for i in indices if i is not None))
    except RuntimeError as problem:
        raise shape_mismatch(
            "index: the index tensors don't broadcast, their shapes are "
            f"{', '.join(str(list(i.shape)) for i in indices if i is not None)}",
            "give them one shape, or shapes that broadcast",
            raised=IndexError,
        ) from problem


def indexed_shape(shape: Shape, indices: tuple[Any, ...]) -> Shape:
    """The shape of x[indices]: the indices' own in front, or in their place if side by side."""
    places, inner = _places(indices), _index_shape(indices)
    if len(indices) > len(shape):
        raise invalid_argument(
            f"index: {len(indices)} indices for a tensor with {len(shape)} axes",
            "index at most each of its axes once",
            raised=IndexError,
        )
    rest = [n for i, n in enumerate(shape) if i not in places]
    at = places[0] if _side_by_side(places) else 0
    return (*rest[:at], *inner, *rest[at:])


def _names_nothing(shape: Shape, indices: Any) -> bool:
    """Whether no element is looked up, so that no index can be wrong."""
    named = [(shape[d], indices[d].size) for d in _places(tuple(indices))]
    empty = 0 in indexed_shape(shape, tuple(indices))
    return empty and not any(count and not size for size, count in named)


def _full(asked: str, shape: Shape, indices: Any) -> tuple[Any, ...]:
    """The index as the array library takes it, every tensor checked against its axis."""
    for dim in _places(tuple(indices)):
        in_range(asked, indices[dim], shape[dim], dim=dim, negative=True)
    return tuple(slice(None) if i is None else i for i in indices)


def _looked_up(call: Call, given: Given) -> Order:
    """As what is iterated over: the input with its indexed axes repeated, and each index.

    Of masks row-major: the client learns no more than the shape of what they choose.
    """
    span, masks = (next(s for s in call.spans if s.name == name) for name in ("indices", "masks"))
    if masks.start < masks.stop:
        return None
    indices = call.inputs[span.start : span.stop]
    places, inner = _places(indices), len(_index_shape(indices))
    shape, strides = given[0]  # type: ignore[misc]
    rest = [i for i in range(len(shape)) if i not in places]
    at = places[0] if _side_by_side(places) else 0
    seen = [*(strides[i] for i in rest[:at]), *(0,) * inner, *(strides[i] for i in rest[at:])]
    after = (1,) * (len(rest) - at)
    parts = (given[span.start + place] for place in places)
    wide = [((*n, *after), (*s, *after)) for n, s in (part or ((), ()) for part in parts)]
    found = call.outputs[0].shape
    return iterated(found, ((found, tuple(seen)), *wide))


@internal(
    vjp(input=lambda g, indices, masks, input_spec: index_sum(g, indices, input_spec.shape)),
    spec=lambda input, indices: input.with_(shape=indexed_shape(input.shape, indices)),
    fallible=True,
    exact=True,
    formula="g added at the indexed places of zeros",
    batch=indexed,
    lies=Lies(_looked_up),
)
def index(xp: Any, input: Array, indices: Arrays, masks: Arrays = ()) -> Array:
    """The elements at places given by tensors, one for each axis or None to keep it.

    masks: what the places were found by. It is kept as in torch, so that nobody writes to it.
    """
    if _names_nothing(input.shape, indices):
        return xp.empty(indexed_shape(input.shape, tuple(indices)), input.dtype)
    return input[_full("index", input.shape, indices)]


def _flat_places(xp: Any, indices: Any, sizes: Shape) -> Array:
    """The row-major place of each indexed element among axes of these sizes."""
    places: Any = 0
    for part, size, step in zip(indices, sizes, steps_of(sizes), strict=True):
        places = places + from_front(part, size) * step
    return places.reshape(-1)


@internal(
    vjp("the indexed elements of g", input=lambda g, indices: index(g, indices)),
    spec=lambda input, shape: input.with_(shape=shape),
    grad_name="IndexPutImplBackward0",
    batch=index_added,
)
def index_sum(xp: Any, input: Array, indices: Arrays, shape: Ints) -> Array:
    """Zeros of a shape with the input's elements added at the indexed places."""
    dims = _places(tuple(indices))
    inner = len(_index_shape(tuple(indices)))
    at = dims[0] if _side_by_side(dims) else 0
    values = xp.moveaxis(input, list(range(at, at + inner)), list(range(inner)))
    sizes = tuple(shape[d] for d in dims)
    rest = tuple(n for d, n in enumerate(shape) if d not in dims)
    if 0 in input.shape or 0 in shape:
        return xp.zeros(shape, input.dtype)  # no place is looked up, so none can be wrong
    _full("index", shape, indices)
    places = _flat_places(xp, [indices[d] for d in dims], sizes)
    rows = values.reshape(places.size, prod(rest))
    summed = summed_rows(xp, places, rows, prod(sizes)).reshape(*sizes, *rest)
    return xp.moveaxis(summed, list(range(len(dims))), dims)


def _put_spec(input: Spec, indices: tuple[Any, ...], values: Spec) -> Spec:
    if values.dtype is not input.dtype:
        raise dtype_mismatch(
            f"index_put: the tensor is {input.dtype.name}, the values {values.dtype.name}",
            "convert the values",
        )
    shape = indexed_shape(input.shape, indices)
    if broadcast_shapes("index_put", values.shape, shape) != shape:
        raise shape_mismatch(
            f"index_put: values of shape {list(values.shape)} do not broadcast to the "
            f"indexed shape {list(shape)}",
            "give as many values as places are indexed, or one for all",
        )
    return input


@internal(
    vjp(
        "input: g with zeros at the places (g itself if they accumulate); values: g there",
        input=lambda g, indices, masks, accumulate: (
            g if accumulate else index_put_at(g, indices, zeros_of(g, ()), False)
        ),
        values=lambda g, indices, masks: index(g, indices),
    ),
    spec=_put_spec,
    fallible=True,
    grad_name="IndexPutBackward0",
    batch=index_written,
    lies=LIKE_FIRST,
)
def index_put_at(
    xp: Any,
    input: Array,
    indices: Arrays,
    values: Array,
    accumulate: bool = False,
    masks: Arrays = (),
) -> Array:
    """The input with values put, or added, at places given by tensors of ints.

    masks: as of `index`.
    """
    out = xp.array(input, order="C")
    if _names_nothing(input.shape, indices):
        return out
    full = _full("index_put", input.shape, indices)
    if not accumulate:
        out[full] = values
        return out
    spread = xp.broadcast_to(values, indexed_shape(input.shape, tuple(indices)))
    return out + index_sum.kernel(xp, spread, indices, input.shape)
