"""vmap: the user's function for every example along an axis, as one program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire import called
from gradwire.asking import flat, session_of
from gradwire.autograd.transformable import VMAP
from gradwire.pytrees import each_once, leaves, shown, spread
from gradwire.tensor import Tensor
from gradwire.trace import Trace, Traced, innermost, trace

Function = Callable[..., Any]


def vmap(
    func: Function,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Function:
    """The function for every example along an axis of its arguments, at once."""

    def batched(*args: Any, **kwargs: Any) -> Any:
        tensors = flat(args)
        dims = _dims_of(in_dims, args)
        size = _batch_size(tensors, dims)
        session: Any = innermost() or session_of(args, kwargs)
        axes = iter(dims)

        def enter(inside: Trace, tensor: Tensor) -> Tensor:
            axis = next(axes)
            known: Tensor = session.lifted(tensor)
            if axis is None:
                return inside.placeholder(known)
            shape = list(known.shape)
            del shape[axis]
            return inside.enter(known, shape)

        def function(*given: Any) -> Any:
            return each_once(func(*given, **kwargs))

        function.__name__ = getattr(func, "__name__", type(func).__name__)
        traced = trace(function, args, session, enter, (VMAP,))
        entered = [d for d in dims if d is not None]
        places = _in_dims(traced, tensors, dims, entered)
        ends = _out_dims(out_dims, traced, function.__name__)
        parts = [
            called.wanted(traced, o, (*o.shape[:end], size, *o.shape[end:]))
            for o, end in zip(traced.outputs, ends, strict=True)
        ]
        fields = {"in_dims": places, "out_dims": ends, "randomness": randomness}
        if not parts:
            return traced.restored(parts)
        found = called.record({"vmap": traced.id}, traced, parts, **fields)
        if traced.trace.may_be_refused:
            session.flush()  # so that it is said at the call
        return traced.restored(found)

    return batched


def _dims_of(in_dims: Any, args: Sequence[Any]) -> list[int | None]:
    """The axis of each tensor among the arguments; one number stands for all below it."""
    if not isinstance(in_dims, int | tuple):
        said = (in_dims,) if isinstance(in_dims, dict) else (0, {"w": 0, "b": None})
        said = tuple(in_dims) if isinstance(in_dims, list) else said
        raise ValueError(
            "vmap: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}\n"
            f"  hint: the tuple has an item for each argument, as in {said}"
        )
    if not args:
        raise ValueError("vmap: got no inputs. Maybe you forgot to add inputs")
    given = spread(in_dims, tuple(args))
    if given is None:
        raise ValueError(
            f"vmap: in_dims is not compatible with the structure of `inputs`: {in_dims} for "
            f"{shown(tuple(args))}"
        )
    pairs = zip(given, leaves(tuple(args)), strict=True)
    return [_axis(dim, leaf) for dim, leaf in pairs if isinstance(leaf, Tensor)]


def _axis(dim: Any, value: Tensor) -> int | None:
    """The axis that is mapped over, counted from the front."""
    if dim is None:
        return None
    if not isinstance(dim, int) or not -value.ndim <= dim < value.ndim:
        raise ValueError(
            f"vmap: Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {value.ndim} so expected in_dim to satisfy "
            f"{-value.ndim} <= in_dim < {value.ndim}."
        )
    return dim % value.ndim


def _batch_size(tensors: Sequence[Tensor], dims: Sequence[int | None]) -> int:
    sizes: list[int] = [t.shape[d] for t, d in zip(tensors, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: at least one of the inputs must have a dim to be mapped over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, "
            f"got sizes {sizes} for the mapped dimension"
        )
    return sizes[0]


def _in_dims(
    traced: Traced, tensors: Sequence[Tensor], dims: Sequence[int | None], entered: Sequence[int]
) -> list[int | None]:
    """The axis of each input of the program: of captured tensors none."""
    left = iter(entered)
    shared = {id(held) for held in traced.trace._captured.values()}
    places = traced.trace.held[::2]
    found = [None if id(place) in shared else next(left) for place in places]
    return found + [None] * (len(traced.trace.inputs) - len(found))


def _out_dims(out_dims: Any, traced: Traced, name: str) -> list[int]:
    result = traced.restored(traced.outputs)
    single = isinstance(result, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1
    every = spread(out_dims[0] if single else out_dims, result)
    if every is None:
        raise ValueError(
            f"vmap: out_dims is not compatible with the structure of outputs: {out_dims} for "
            f"{shown(result)}"
        )
    for end, leaf in zip(every, leaves(result), strict=True):
        if end is not None and not isinstance(leaf, Tensor):
            raise ValueError(
                f"vmap: `{name}` must only return Tensors, got type {type(leaf)}. Did you mean to "
                "set out_dims= to None for output?"
            )
    pairs = zip(every, leaves(result), strict=True)
    given = [end for end, leaf in pairs if isinstance(leaf, Tensor)]
    for end, output in zip(given, traced.outputs, strict=True):
        if end is None or not -output.ndim - 1 <= end <= output.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of "
                f"[{-output.ndim - 1}, {output.ndim}], but got {end})"
            )
    pairs = zip(given, traced.outputs, strict=True)
    return [end % (o.ndim + 1) for end, o in pairs]


__all__ = ["vmap"]
