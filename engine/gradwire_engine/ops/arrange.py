"""Elements in another order, or more than once: flip, roll, rot90, repeat, tile, triangles."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import along, in_rows, leading
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import composite, internal, primitive
from gradwire_engine.laid import LIKE_FIRST, Given, Lies
from gradwire_engine.mode import local
from gradwire_engine.op import APPLY
from gradwire_engine.ops.axes import flatten, unsqueeze
from gradwire_engine.ops.expand import contiguous_copy, expand, reshape, sum
from gradwire_engine.ops.gather import index_select
from gradwire_engine.ops.known import elements
from gradwire_engine.ops.views import alias, zeros_of
from gradwire_engine.order import Order, alone, normal
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Ints, axes, axis
from gradwire_engine.spec import BOOL, FLOAT, INTEGER, Shape, Spec, int64

if TYPE_CHECKING:
    from gradwire_engine.call import Call

moving = partial(primitive, exact=True, linear=True)
"""An op that puts elements elsewhere, or zeros in their place."""


def _flips(input: Spec, dims: Ints) -> Spec:
    if dims:
        axes("flip", dims, len(input.shape))
    return input


@moving(
    vjp("g flipped", input=lambda g, dims: flip(g, dims)),
    spec=_flips,
    batch=along("dims"),
    lies=LIKE_FIRST,
)
def flip(xp: Any, input: Array, dims: Ints) -> Array:
    """Turn the order of elements round along some axes."""
    return xp.flip(input, dims) if input.ndim and dims else input


def _needs(asked: str, input: Any, least: int) -> None:
    if input.ndim < least:
        raise invalid_argument(
            f"{asked}: takes a tensor with at least {least} axes, this one has {input.ndim}",
            "unsqueeze it",
        )


@composite()
def fliplr(input: Array) -> Array:
    """Turn each row round."""
    _needs("fliplr", input, 2)
    return flip(input, (1,))


@composite()
def flipud(input: Array) -> Array:
    """Turn the order of rows round."""
    _needs("flipud", input, 1)
    return flip(input, (0,))


def _rolls(input: Spec, shifts: Ints, dims: Ints | None) -> Spec:
    if not shifts or (len(dims or ()) != len(shifts) and (dims or len(shifts) != 1)):
        raise invalid_argument(
            f"roll: {len(shifts)} shifts for {len(dims or ())} dims",
            "give one shift for each dim; without dims one shift for all elements in a row",
        )
    for dim in dims or () if input.size else ():
        axis("roll", dim, len(input.shape))
    if dims and not input.shape:
        raise invalid_argument(f"roll: dims {list(dims)} of a scalar", raised=IndexError)
    return input


def _rolled(b: Any) -> Any:
    if b["dims"]:
        return along("dims")(b)
    return in_rows(lambda rows, shifts: roll(rows, shifts, (1,)))(b)


@moving(
    vjp("g rolled back", input=lambda g, shifts, dims: roll(g, tuple(-s for s in shifts), dims)),
    spec=_rolls,
    batch=_rolled,
)
def roll(xp: Any, input: Array, shifts: Ints, dims: Ints | None = None) -> Array:
    """Shift elements along axes; those that leave at one end come in at the other."""
    if not input.ndim or not input.size:
        return input
    return xp.roll(input, shifts, dims) if dims else xp.roll(input, shifts[0])


def _turned(input: Spec, k: int, dims: Ints) -> Spec:
    if len(dims) != 2 or len(input.shape) < 2:
        raise invalid_argument(
            f"rot90: dims {list(dims)} of a tensor with {len(input.shape)} axes",
            "it takes two dims of a tensor with at least 2 axes",
        )
    first, second = axes("rot90", dims, len(input.shape))
    shape = list(input.shape)
    if k % 2:
        shape[first], shape[second] = shape[second], shape[first]
    return input.with_(shape=tuple(shape))


def _turned_order(call: Call, given: Given) -> Order:
    """By one quarter it is flipped and seen transposed; by two flipped; whole turns are copies."""
    k, dims = call.arguments[1] % 4, call.arguments[2]
    lies = given[0]
    if not k or lies is None:
        return None
    shape, _ = lies
    order = alone(lies) or tuple(range(len(shape)))
    first, second = axes("rot90", dims, len(shape))
    places = {first: second, second: first} if k % 2 else {}
    return normal(tuple([places.get(i, i) for i in order]))


@moving(
    vjp("g turned back", input=lambda g, k, dims: rot90(g, -k, dims)),
    spec=_turned,
    batch=along("dims"),
    lies=Lies(_turned_order, anyway=True),
)
def rot90(xp: Any, input: Array, k: int = 1, dims: Ints = (0, 1)) -> Array:
    """Turn the plane of two axes by k quarter turns, from the first towards the second."""
    return xp.rot90(input, k, dims)


def _matrices(asked: str, input: Spec) -> Spec:
    if len(input.shape) < 2:
        raise invalid_argument(
            f"{asked}: takes matrices, the tensor has {len(input.shape)} axes", "unsqueeze it"
        )
    return input


@moving(
    vjp("g on and below the diagonal", input=lambda g, diagonal: tril(g, diagonal)),
    spec=lambda input: _matrices("tril", input),
    inplace=True,
    batch=leading,
)
def tril(xp: Any, input: Array, diagonal: int = 0) -> Array:
    """The matrix on and below a diagonal; zeros above."""
    return xp.tril(input, diagonal)


@moving(
    vjp("g on and above the diagonal", input=lambda g, diagonal: triu(g, diagonal)),
    spec=lambda input: _matrices("triu", input),
    inplace=True,
    batch=leading,
)
def triu(xp: Any, input: Array, diagonal: int = 0) -> Array:
    """The matrix on and above a diagonal; zeros below."""
    return xp.triu(input, diagonal)


def _repeated_shape(shape: Shape, repeats: Ints) -> Shape:
    if len(repeats) < len(shape) or any(n < 0 for n in repeats):
        raise invalid_argument(
            f"repeat: {list(repeats)} for a tensor of shape {list(shape)}",
            "give a number >= 0 for each axis, more for new axes in front",
        )
    full = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    return tuple(n * r for n, r in zip(full, repeats, strict=True))


def _unrepeated(g: Any, repeats: Ints, shape: Shape) -> Any:
    """The sum over all copies."""
    full = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    if 0 in repeats:
        return zeros_of(g, shape)  # which has no history, as in torch
    both = tuple(n for pair in zip(repeats, full, strict=True) for n in pair)
    folded = sum(reshape(g, both), tuple(range(0, len(both), 2))) if both else g
    return reshape(folded, shape)


@moving(
    vjp(input=lambda g, repeats, input_spec: _unrepeated(g, repeats, input_spec.shape)),
    spec=lambda input, repeats: input.with_(shape=_repeated_shape(input.shape, repeats)),
    formula="g summed over the copies",
    batch=lambda b: b.again(
        input=b.behind(b.operand("input"), len(b["repeats"])), repeats=(1, *b["repeats"])
    ),
    apart=(
        lambda input: input.is_inference and not local.state.inference,
        lambda input, repeats: alias(APPLY[type(input)](repeat, (input, repeats))),
    ),  # of an inference tensor torch gives a view of a normal one
)
def repeat(xp: Any, input: Array, repeats: Ints) -> Array:
    """Copies of the whole tensor side by side, so many along each axis."""
    return xp.tile(input, repeats)


@composite()
def tile(input: Array, dims: Ints) -> Array:
    """Copies of the whole tensor side by side; axes without a number get one."""
    return repeat(input, (1,) * (input.ndim - len(dims)) + tuple(dims))


def _places_spec(repeats: Spec, count: int) -> Spec:
    if repeats.dtype.category in (BOOL, *range(FLOAT, FLOAT + 2)) or len(repeats.shape) > 1:
        raise invalid_argument(
            f"repeat_interleave: the repeats are {repeats}", "give a vector of ints"
        )
    return Spec((count,), int64, "")


@internal(spec=_places_spec, fallible=True)
def repeated_places(xp: Any, repeats: Array, count: int) -> Array:
    """Each place as often as the repeats say."""
    if repeats.size and int(repeats.min()) < 0:
        raise invalid_argument("repeat_interleave: a negative repeat", "repeats are >= 0")
    ends = xp.cumsum(repeats.reshape(-1), dtype=xp.int64)
    if count != (int(ends[-1]) if ends.size else 0):
        raise invalid_argument(
            f"repeat_interleave: output_size is {count}, the repeats add up to another number",
            "leave output_size out",
        )
    return xp.searchsorted(ends, xp.arange(count), side="right")


def _axis_to_repeat(input: Any, dim: int) -> int:
    """An axis that is there: here a scalar has not even its first one."""
    if not input.ndim:
        raise invalid_argument(
            f"repeat_interleave: dim is {dim}, the tensor has no axes",
            "leave dim out",
            raised=IndexError,
        )
    return axis("repeat_interleave", dim, input.ndim)


@composite()
def repeat_interleave(
    input: Array, repeats: int, dim: int | None = None, *, output_size: int | None = None
) -> Array:
    """Each element, or slice of an axis, so many times in a row."""
    if repeats < 0:
        raise invalid_argument(f"repeat_interleave: {repeats} repeats", "ask for >= 0")
    if dim is None:
        input, dim = reshape(input, (-1,)), 0
    place = _axis_to_repeat(input, dim)
    seen = unsqueeze(input, place + 1)
    shape = (*seen.shape[: place + 1], repeats, *seen.shape[place + 2 :])
    return flatten(contiguous_copy(expand(seen, shape)), place, place + 1)


@composite(name="repeat_interleave", data_dependent=True)
def _repeat_each(
    input: Array, repeats: Array, dim: int | None = None, *, output_size: int | None = None
) -> Array:
    """Each element, or slice of an axis, as often as a vector of repeats says."""
    if dim is None:
        input, dim = reshape(input, (-1,)), 0
    place = _axis_to_repeat(input, dim)
    length = input.shape[place]
    if prod(repeats.shape) == 1 and length != 1:
        repeats = expand(reshape(repeats, (1,)), (length,))
    if prod(repeats.shape) != length:
        raise shape_mismatch(
            f"repeat_interleave: {list(repeats.shape)} repeats for an axis of size {length}",
            "give one for each element of the axis",
        )
    count = _count(repeats, output_size)
    return index_select(input, place, repeated_places(repeats, count))


@composite(name="repeat_interleave", data_dependent=True)
def _repeat_counting(repeats: Array, *, output_size: int | None = None) -> Array:
    """Each place as often as a vector of repeats says."""
    return repeated_places(repeats, _count(repeats, output_size))


def _count(repeats: Any, output_size: int | None) -> int:
    """How many elements a tensor of repeats asks for."""
    if repeats.dtype.category != INTEGER:
        raise dtype_mismatch(f"repeat_interleave: repeats are {repeats.dtype}", "convert to int64")
    if output_size is not None:
        return output_size
    return int(elements("repeat_interleave", repeats, "give output_size").sum())
