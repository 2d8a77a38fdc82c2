"""Picking elements by index tensors: index_select, gather, take, masked_select; their adjoints."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import along, by_vector, leading, parts
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import composite, internal, primitive
from gradwire_engine.ops.accumulate import from_front, in_range, steps_of, summed, summed_rows
from gradwire_engine.ops.advanced import index as index_at
from gradwire_engine.ops.advanced import nonzero
from gradwire_engine.ops.expand import expand, reshape
from gradwire_engine.ops.rounding import remainder
from gradwire_engine.promote import broadcast_shapes
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dim, Ints, axis
from gradwire_engine.spec import INTEGER, DType, Shape, Spec, bool_, int32, int64


def check_whole(
    asked: str, index: Spec, *others: DType, raised: type[Exception] = RuntimeError
) -> None:
    """Refuse an index tensor that doesn't hold int64, or int32 if nothing else is named."""
    taken = others or (int64, int32)
    if index.dtype not in taken:
        raise dtype_mismatch(
            f"{asked}: the index must be {' or '.join(d.name for d in taken)}, it is "
            f"{index.dtype.name}",
            "convert it to int64",
            raised=raised,
        )


def at(dim: int, places: Any) -> tuple[Any, ...]:
    """An index into one axis, all others whole."""
    return (*[slice(None)] * dim, places)


def _selected(input: Spec, dim: int, index: Spec) -> Spec:
    check_whole("index_select", index)
    if len(index.shape) > 1:
        raise shape_mismatch(
            f"index_select: the index must be a vector, its shape is {list(index.shape)}",
            "use gather or [] for an index of several axes",
            raised=IndexError,
        )
    if not input.shape:
        if index.size != 1:
            raise shape_mismatch(
                f"index_select: a tensor without axes has one place, the index names {index.size}",
                "give one index, or expand the tensor",
                raised=RuntimeError,
            )
        return input
    return input.with_(shape=(*input.shape[:dim], index.size, *input.shape[dim + 1 :]))


def widened(index: Any, dim: int, shape: Shape) -> Any:
    """A vector of places along one axis as an index of gather, of a tensor of this shape."""
    if not shape:
        return reshape(index, ())
    along_dim = tuple(-1 if i == dim else 1 for i in range(len(shape)))
    wide = (*shape[:dim], index.shape[0] if index.shape else 1, *shape[dim + 1 :])
    return expand(reshape(index, along_dim), wide)


@primitive(
    vjp(input=lambda g, index, dim, input_spec: rows_sum(g, index, dim, input_spec.shape)),
    spec=_selected,
    fallible=True,
    exact=True,
    formula="g added at the selected places of zeros",
    batch=by_vector(
        along("dim", alone=("index",)),
        parts(lambda input, dim, index: gather(input, dim, widened(index, dim, input.shape))),
        "index",
    ),
    linear=True,
)
def index_select(xp: Any, input: Array, dim: Dim, index: Array) -> Array:
    """The slices of an axis that a vector of indices names."""
    seen = input if input.ndim else input.reshape(1)
    raised = RuntimeError if seen.ndim > 1 and (dim == 1 or not seen.size) else IndexError
    in_range("index_select", index, seen.shape[dim], dim=dim, negative=False, raised=raised)
    found = xp.take(seen, index.reshape(-1), axis=dim)
    return found if input.ndim else found.reshape(())


def _rows_added(input: Any, index: Any, dim: int, shape: Shape) -> Any:
    return gather_sum(input, widened(index, dim, tuple(input.shape)), dim, shape)


@internal(
    vjp("the selected slices of g", input=lambda g, index, dim: index_select(g, dim, index)),
    spec=lambda input, shape: input.with_(shape=shape),
    grad_name="IndexAddBackward0",
    batch=by_vector(along("dim", sized="shape", alone=("index",)), parts(_rows_added), "index"),
)
def rows_sum(xp: Any, input: Array, index: Array, dim: int, shape: Ints) -> Array:
    """Zeros of a shape with the input's slices added at places of one axis."""
    seen, full = (input, shape) if shape else (input.reshape(1), (1,))
    moved = xp.moveaxis(seen, dim, 0) if dim else seen
    rows = moved.reshape(moved.shape[0], prod(moved.shape[1:]))
    found = summed_rows(xp, index.reshape(-1), rows, full[dim])
    found = found.reshape(full[dim], *moved.shape[1:])
    return (xp.moveaxis(found, 0, dim) if dim else found).reshape(shape)


def raised(shape: Shape) -> Shape:
    """A scalar's shape as that of a vector of one."""
    return tuple(shape) or (1,)


def check_index(asked: str, shape: Shape, dim: int, index: Spec, *, limited: bool = True) -> None:
    """The index of gather and scatter has the tensor's axes, none longer but for `dim`."""
    have, wanted = raised(index.shape), raised(shape)
    if 0 in have:
        return
    check_whole(asked, index)
    if len(have) != len(wanted):
        raise shape_mismatch(
            f"{asked}: the index has {len(index.shape)} axes, the tensor {len(shape)}",
            "they must have equally many",
        )
    for i, (n, limit) in enumerate(zip(have, wanted, strict=True)):
        if n > limit and (i != dim or not limited):
            raise shape_mismatch(
                f"{asked}: the index has shape {list(index.shape)}, the tensor {list(shape)}; "
                f"at axis {i} it is longer",
                f"except in dim {dim} the index must not be longer",
            )


def _gathered(input: Spec, dim: int, index: Spec) -> Spec:
    check_index("gather", input.shape, dim, index)
    return input.with_(shape=index.shape)


def corner(shape: Shape, *, without: int | None = None) -> tuple[slice, ...]:
    """The part of an array from its first element on that has this shape."""
    return tuple(slice(None) if i == without else slice(0, n) for i, n in enumerate(shape))


@primitive(
    vjp(input=lambda g, input, index, dim: gather_sum(g, index, dim, tuple(input.shape))),
    spec=_gathered,
    fallible=True,
    exact=True,
    formula="g added at the gathered places of zeros",
    batch=along("dim"),
    linear=True,
)
def gather(xp: Any, input: Array, dim: Dim, index: Array, *, sparse_grad: bool = False) -> Array:
    """Elements of an axis, picked for each place by an index tensor of the same axes."""
    if not index.size:
        return xp.empty(index.shape, input.dtype)
    places, source = index.reshape(raised(index.shape)), input.reshape(raised(input.shape))
    in_range("gather", index, source.shape[dim], dim=dim, negative=False, raised=RuntimeError)
    source = source[corner(places.shape, without=dim)]
    return xp.take_along_axis(source, places, dim).reshape(index.shape)


def spread(xp: Any, index: Array, dim: int, shape: Shape) -> Array:
    """The flat place in an array of this shape that each element of a gather index names."""
    steps = steps_of(shape)
    found = index if steps[dim] == 1 else index * steps[dim]
    for i, step in enumerate(steps):
        if i != dim:
            along = [-1 if j == i else 1 for j in range(len(shape))]
            found = found + (xp.arange(index.shape[i]) * step).reshape(along)
    return found


@internal(
    vjp("the gathered elements of g", input=lambda g, index, dim: gather(g, dim, index)),
    spec=lambda input, shape: input.with_(shape=shape),
    grad_name="ScatterAddBackward0",
    batch=along("dim", sized="shape"),
    linear=True,
)
def gather_sum(xp: Any, input: Array, index: Array, dim: int, shape: Ints) -> Array:
    """Zeros of a shape with the input's elements added where an index tensor says."""
    if not index.size:
        return xp.zeros(shape, input.dtype)
    places, full = index.reshape(raised(index.shape)), raised(shape)
    in_range("scatter", places, full[dim], dim=dim, negative=False, raised=RuntimeError)
    flat = spread(xp, places, dim, full)
    return summed(xp, flat, input, prod(full)).reshape(shape)


def _taken(input: Spec, index: Spec) -> Spec:
    check_whole("take", index, int64)
    if index.size and not input.size:
        raise invalid_argument("take: the tensor has no elements", raised=IndexError)
    return input.with_(shape=index.shape)


def one_by_one_places(index: Any, size: int) -> Any:
    """Places among all elements in a row, counted from the first, as a vector."""
    return front_places(reshape(index, (-1,)), size)


def _taken_one_by_one(input: Any, index: Any) -> Any:
    flat = reshape(input, (-1,))
    return reshape(gather(flat, 0, one_by_one_places(index, flat.shape[0])), index.shape)


def _summed_one_by_one(input: Any, index: Any, shape: Shape) -> Any:
    places = one_by_one_places(index, prod(shape))
    return reshape(gather_sum(reshape(input, (-1,)), places, 0, (prod(shape),)), shape)


@primitive(
    vjp(input=lambda g, input, index: take_sum(g, index, tuple(input.shape))),
    spec=_taken,
    fallible=True,
    exact=True,
    formula="g added at the places taken of zeros",
    batch=by_vector(leading, parts(_taken_one_by_one), "input"),
    linear=True,
)
def take(xp: Any, input: Array, index: Array) -> Array:
    """Elements by their place in row-major order; negative places count from the end."""
    in_range("take", index, input.size, dim=0, negative=True)
    return xp.take(input.reshape(-1), from_front(index, input.size))


@internal(
    vjp("the elements of g taken", input=lambda g, index: take(g, index)),
    spec=lambda input, shape: input.with_(shape=shape),
    grad_name="PutBackward0",
    batch=parts(_summed_one_by_one),
)
def take_sum(xp: Any, input: Array, index: Array, shape: Ints) -> Array:
    """Zeros of a shape with the input's elements added at places in row-major order."""
    size = prod(shape)
    in_range("put", index, size, dim=0, negative=True)
    return summed(xp, from_front(index, size), input, size).reshape(shape)


def _places_spec(index: Spec) -> Spec:
    if index.dtype.category != INTEGER:
        raise dtype_mismatch(f"the indices are {index}", "convert them to int64")
    return index


@internal(spec=_places_spec, batch=leading)
def front_places(xp: Any, index: Array, size: int) -> Array:
    """Indices that may count from the end of an axis as ones that count from its front."""
    return from_front(index, size)


@composite()
def take_along_dim(input: Array, indices: Array, dim: int | None = None) -> Array:
    """Gather along an axis by indices that broadcast against the tensor; None: of all elements."""
    if indices.dtype.name != "int64":
        raise dtype_mismatch(
            f"take_along_dim: the indices must be int64, they are {indices.dtype.name}",
            "convert them to int64",
        )
    if dim is None:
        flat = reshape(input, (-1,))
        return gather(flat, 0, reshape(indices, (-1,)))
    if input.ndim != indices.ndim:
        raise shape_mismatch(
            f"take_along_dim: the tensor has {input.ndim} axes, the indices {indices.ndim}",
            "they must have equally many",
        )
    place = axis("take_along_dim", dim, input.ndim)
    if not input.ndim:
        raise invalid_argument(
            f"take_along_dim: dim is {dim}, the tensor has no axes",
            "leave dim out",
            raised=IndexError,
        )
    have, wanted = list(input.shape), list(indices.shape)
    have[place] = wanted[place] = 1
    both = list(broadcast_shapes("take_along_dim", tuple(have), tuple(wanted)))
    sizes = [(*both[:place], t.shape[place], *both[place + 1 :]) for t in (input, indices)]
    places = expand(indices, sizes[1])
    if input.shape[place]:  # they go round and round the axis, as torch reads them here
        places = remainder(places, input.shape[place])
    return gather(expand(input, sizes[0]), place, places)


@composite(name="where", data_dependent=True)
def places_where(condition: Array) -> Array:
    """The indices of the elements that are not zero, a tensor for each axis."""
    return nonzero(condition, True)


@composite(grad_name="MaskedSelectBackward0", data_dependent=True)
def masked_select(input: Array, mask: Array) -> Array:
    """The elements where a mask holds, in a vector."""
    if getattr(mask.dtype, "numpy", mask.dtype) != bool_.numpy:
        raise dtype_mismatch(
            f"masked_select: the mask must be bool, it is {mask.dtype}",
            "compare it with something, for instance mask != 0",
        )
    shape = broadcast_shapes("masked_select", tuple(input.shape), tuple(mask.shape))
    seen = input if tuple(input.shape) == shape else expand(input, shape)
    held = mask if tuple(mask.shape) == shape else expand(mask, shape)
    places = tuple(nonzero(held, True))
    return index_at(seen if shape else reshape(seen, (1,)), places, (input, mask))
