"""vmap: a function of one example made into one of many, with torch.func.vmap's arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire_engine import batch as batch
from gradwire_engine.batch import apply as apply
from gradwire_engine.batch import gradient as gradient
from gradwire_engine.batch import writing as writing
from gradwire_engine.batch.layer import RANDOMNESS, Layer
from gradwire_engine.batch.value import Batched, fronted, is_rows
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.levels import entered
from gradwire_engine.mode import local, using
from gradwire_engine.nest import Mismatch, filled, leaves, spread
from gradwire_engine.op import APPLY
from gradwire_engine.ops.axes import movedim
from gradwire_engine.ops.views import alias
from gradwire_engine.signature import axis

Dims = Any
"""None, an int, or a tuple, list or dict of these in the structure of what they belong to."""


def vmap(
    function: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    columns: bool = False,
) -> Callable[..., Any]:
    """The function applied to every example along an axis of its arguments, all at once.

    in_dims: the axis of each argument, None where it is the same for all examples. out_dims: where
    the axis of examples goes in each result. randomness: what random ops do: "error", "different"
    for each example, or the "same" for all. Keyword arguments are the same for all.
    columns: see Layer.
    """
    if randomness not in RANDOMNESS:
        raise error(
            "invalid_argument",
            f"vmap: randomness is {randomness!r}",
            f"it must be one of {', '.join(RANDOMNESS)}",
        )

    def batched(*args: Any, **kwargs: Any) -> Any:
        dims = _in_dims(in_dims, args)
        flat = leaves(args)
        size = _size(flat, dims)
        with (
            entered() as level,
            using(vmap=Layer(level, size, randomness, local.state.vmap, columns)),
        ):
            wrapped = [_wrapped(v, d, level) for v, d in zip(flat, dims, strict=True)]
            result = function(*filled(args, iter(wrapped)), **kwargs)
        return _unwrapped(result, out_dims, size, level)

    return batched


def _wrong(detail: str, hint: str | None = None) -> GradwireError:
    return error("invalid_argument", f"vmap: {detail}", hint, raised=ValueError)


def _in_dims(in_dims: Dims, args: tuple[Any, ...]) -> list[int | None]:
    """The axis of each argument, level by level of nesting."""
    if type(in_dims) is not int and not isinstance(in_dims, (tuple, list)):
        raise _wrong(f"in_dims is {in_dims!r}", "give an int, or a tuple in the arguments' order")
    if not args:
        raise _wrong("the function got no arguments", "there must be something to map over")
    try:
        asked = spread(in_dims, args if isinstance(in_dims, tuple) else list(args))
    except Mismatch:
        raise _wrong(
            f"in_dims {in_dims!r} does not have the structure of the {len(args)} arguments",
            "give an int or None for each, or for all that is below a tuple, list or dict",
        ) from None
    return [_in_dim(value, dim) for value, dim in zip(leaves(args), asked, strict=True)]


def _in_dim(value: Any, dim: Any) -> int | None:
    if dim is None:
        return None
    if type(dim) is not int:
        raise _wrong(f"an in_dim is {dim!r}", "it must be an int or None")
    if type(value) not in APPLY:
        raise _wrong(
            f"in_dim is {dim} for a {type(value).__name__}",
            "only tensors can be mapped over; use None for it",
        )
    if not -value.ndim <= dim < value.ndim:
        raise _wrong(
            f"in_dim is {dim} for a tensor of shape {list(value.shape)}",
            f"it must lie between {-value.ndim} and {value.ndim - 1}"
            if value.ndim
            else "a tensor without axes cannot be mapped over; use None for it",
        )
    return int(dim % value.ndim)


def _size(flat: Sequence[Any], dims: Sequence[int | None]) -> int:
    sizes = [v.shape[d] for v, d in zip(flat, dims, strict=True) if d is not None]
    if not sizes:
        raise _wrong("in_dims is None for every argument", "map over at least one tensor")
    if len(set(sizes)) > 1:
        raise _wrong(
            f"the axes mapped over have different sizes: {', '.join(map(str, sizes))}",
            "they must be equally long",
        )
    return int(sizes[0])


def _wrapped(value: Any, dim: int | None, level: int) -> Any:
    """An argument as the function gets it; a view, so that its history is its own."""
    if dim is None:
        return value
    return Batched(movedim(value, (dim,), (0,)) if dim else alias(value), level)


def _unwrapped(result: Any, out_dims: Dims, size: int, level: int) -> Any:
    try:
        dims = spread(out_dims, result)
    except Mismatch:
        raise _wrong(
            f"out_dims {out_dims!r} does not have the structure of the results",
            "give an int or None for each, or one for all",
        ) from None
    ends = zip(leaves(result), dims, strict=True)
    return filled(result, iter([_out(v, d, size, level) for v, d in ends]))


def _out(value: Any, dim: Any, size: int, level: int) -> Any:
    if dim is not None and type(dim) is not int:
        raise _wrong(f"an out_dim is {dim!r}", "it must be an int or None")
    if dim is None:
        if is_rows(value, level):
            raise _wrong("out_dim is None for a result that differs", "say where its axis goes")
        return value
    if type(value) not in APPLY:
        raise _wrong(
            f"the function must give tensors, it gave a {type(value).__name__}",
            "give tensors only, or out_dims=None for it",
        )
    inner = fronted(value, level, size)
    place = axis("vmap", dim, inner.ndim)
    return movedim(inner, (0,), (place,)) if place else inner
