"""The largest and the smallest: over all elements, along axes, with the place where they stand."""

from __future__ import annotations

from functools import partial
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import along, in_rows
from gradwire_engine.errors import dtype_mismatch
from gradwire_engine.families import REAL, REAL_NUMERIC, composite, internal, reduction
from gradwire_engine.op import APPLY, PRIMITIVES, Primitive
from gradwire_engine.ops.arithmetic import div, mul
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.compare import eq
from gradwire_engine.ops.expand import sum, with_kept_dims
from gradwire_engine.ops.gather import gather
from gradwire_engine.ops.limits import maximum, minimum
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dim, Dims, Ints
from gradwire_engine.spec import DType, Spec, int64

Found = tuple[Array, Array]
"""Values and the indices where they were found."""


def same(dtype: DType) -> DType:
    """The dtype of values."""
    return dtype


def to_index(dtype: DType) -> DType:
    """The dtype of indices."""
    return int64


@internal(
    vjp(input=lambda g, index, dim: gather(g, dim, index)),
    spec=lambda input, shape: input.with_(shape=shape),
    exact=True,
    grad_name="ValueSelectingReductionBackward0",
    batch=along("dim", sized="shape"),
)
def put_along(xp: Any, input: Array, index: Array, dim: int, shape: Ints) -> Array:
    """Zeros of a shape, but the input's elements at distinct indices along one axis."""
    out = xp.zeros(shape, input.dtype)
    if out.ndim:
        xp.put_along_axis(out, index, input, dim)
    else:
        out[...] = input
    return out


def selected_gradient(g_values: Any, indices: Any, dim: int, input_spec: Spec) -> Any:
    """The gradient of what was taken at one index along an axis; the axis may have been dropped."""
    shape = input_spec.shape
    kept = with_kept_dims(g_values, (dim,), shape)
    return put_along(kept, with_kept_dims(indices, (dim,), shape), dim, shape)


extreme = partial(reduction, takes=REAL, refusal=NotImplementedError, nonempty=True)
"""A reduction of numbers that have an order, to one of them."""

selection = partial(
    extreme,
    vjp("g put back where the value stood", input=selected_gradient),
    outputs=("values", "indices"),
    results=(same, to_index),
)
"""A reduction that takes one element along an axis, and says where it stood."""


def shared_gradient(g: Any, chosen: Any, dim: Dims | None, spec: Spec) -> Any:
    """g in equal parts to the elements of the input that were chosen, a mask."""
    share = to_dtype(chosen, spec.dtype)
    count = with_kept_dims(sum(share, dim), dim, spec.shape)
    return mul(div(with_kept_dims(g, dim, spec.shape), count), share)


def _tied_gradient(g: Any, input: Any, out: Any, dim: Dims | None, input_spec: Spec) -> Any:
    chosen = eq(input, with_kept_dims(out, dim, input_spec.shape))
    return shared_gradient(g, chosen, dim, input_spec)


def _unordered(input: Any) -> bool:
    """Whether a derivative is to be recorded of complex numbers, of which there are none here."""
    return bool(input.dtype.is_complex and input.requires_grad)


def _refused(asked: str, *args: Any) -> Any:
    APPLY[type(args[0])](PRIMITIVES[asked][0], args)  # what is wrong with axes is said first
    raise dtype_mismatch(f"{asked}: it has no derivative by complex numbers", "use abs()")


def equals_gradient(g: Any, input: Any, out: Any, input_spec: Spec) -> Any:
    """g in equal parts to the elements equal to the one that is the result, NaN equal to NaN."""
    equals = eq(input, out) | ((out != out) & (input != input))
    count = sum(to_dtype(equals, input_spec.dtype))
    return where(equals, div(g, count), 0)  # to the others 0, also of a g that is NaN


def taken(xp: Any, input: Array, indices: Array, dim: int, keepdim: bool) -> Found:
    """Elements along an axis at these indices (the axis has size 1), and the indices."""
    if not input.ndim:
        return input, xp.zeros((), xp.int64)
    values = xp.take_along_axis(input, indices, dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def _declare(name: str, most: str, more: str, of_two: Primitive) -> tuple[Primitive, Primitive]:
    """The overloads of max, amax and argmax, or of min, amin and argmin; the first of these two."""

    def of_all(xp: Any, input: Array) -> Array:
        return getattr(input, name)()

    def along_one(xp: Any, input: Array, dim: Dim, keepdim: bool = False) -> Found:
        places = getattr(xp, f"arg{name}")(input, axis=dim, keepdims=True) if input.ndim else None
        return taken(xp, input, places, dim, keepdim)

    def of_pairs(input: Array, other: Array) -> Array:
        return of_two(input, other)

    def over_some(xp: Any, input: Array, dim: Dims | None = (), keepdim: bool = False) -> Array:
        return getattr(xp, name)(input, axis=dim or None, keepdims=keepdim)

    def place(xp: Any, input: Array, dim: Dim | None = None, keepdim: bool = False) -> Array:
        along = dim if input.ndim else None
        return getattr(xp, f"arg{name}")(input, axis=along, keepdims=keepdim)

    of_all.__doc__ = f"The {most} element; NaN if there is one."
    along_one.__doc__ = f"The {most} elements along an axis and their indices."
    of_pairs.__doc__ = f"The {more} of two elements."
    over_some.__doc__ = f"The {most} element over some axes, or over all."
    place.__doc__ = (
        f"The index of the {most} element along an axis, or among all in row-major order."
    )
    of_rows = in_rows(lambda rows: over(rows, (1,)))
    shared = vjp(f"g in equal parts to all elements that are {most}", input=equals_gradient)
    tied = vjp(f"g in equal parts to the elements that are {most}", input=_tied_gradient)
    apart = (_unordered, partial(_refused, f"a{name}"))
    made = extreme(shared, name=name, grad_name=f"{name.title()}Backward1", batch=of_rows)(of_all)
    selection(name=name)(along_one)
    composite(name=name)(of_pairs)
    over = extreme(tied, name=f"a{name}", of_nothing=True, apart=apart)(over_some)
    to_place = partial(reduction, takes=REAL_NUMERIC, nonempty=True, whole=IndexError)
    to_place(name=f"arg{name}", result=to_index)(place)
    return made, over


max, amax = _declare("max", "largest", "larger", maximum)
min, amin = _declare("min", "smallest", "smaller", minimum)


def _around(dim: int | None, spec: Spec) -> Dims | None:
    return None if dim is None or not spec.shape else (dim,)


@extreme(
    vjp(
        input=lambda g_min, g_max, input, min, max, dim, input_spec: (
            _tied_gradient(g_min, input, min, _around(dim, input_spec), input_spec)
            + _tied_gradient(g_max, input, max, _around(dim, input_spec), input_spec)
        )
    ),
    outputs=("min", "max"),
    results=(same, same),
    formula="each cotangent in equal parts to the elements that are smallest, largest",
)
def aminmax(xp: Any, input: Array, *, dim: Dim | None = None, keepdim: bool = False) -> Found:
    """The smallest and the largest element along an axis, or of all."""
    place = dim if input.ndim else None
    return (
        xp.min(input, axis=place, keepdims=keepdim),
        xp.max(input, axis=place, keepdims=keepdim),
    )
