"""Views that rename axes: transposed, permuted, squeezed, folded and unfolded; no element moves."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument, shape_mismatch
from gradwire_engine.families import composite, view
from gradwire_engine.ops.arithmetic import _conj
from gradwire_engine.ops.expand import called, contiguous, expand, reshape
from gradwire_engine.ops.expand import view as see
from gradwire_engine.ops.known import kind
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dim, Ints, axes, axis


@view(vjp("g transposed back", input=lambda g, dim0, dim1: transpose(g, dim0, dim1)))
def transpose(xp: Any, input: Array, dim0: Dim, dim1: Dim) -> Array:
    """Swap two axes."""
    return input.swapaxes(dim0, dim1) if input.ndim else input[...]


@composite(aliases=("swapdims",))
def swapaxes(input: Array, axis0: Dim, axis1: Dim) -> Array:
    """Swap two axes."""
    return transpose(input, axis0, axis1)


@lru_cache(maxsize=1024)
def _order(dims: Ints, ndim: int) -> Ints:
    """All axes in the order asked for."""
    if len(dims) != ndim:
        raise invalid_argument(
            f"permute: {list(dims)} orders {len(dims)} axes, the tensor has {ndim}",
            "name every axis once",
        )
    return axes("permute", dims, ndim)


def _inverse(dims: Ints) -> Ints:
    order = _order(dims, len(dims))
    return tuple(sorted(range(len(order)), key=order.__getitem__))


@view(vjp("g permuted back", input=lambda g, dims: permute(g, _inverse(dims))))
def permute(xp: Any, input: Array, dims: Ints) -> Array:
    """Put the axes in another order."""
    return input.transpose(_order(dims, input.ndim))


@view(vjp("g transposed", input=lambda g: t(g)))
def t(xp: Any, input: Array) -> Array:
    """Transpose a matrix; a vector or a scalar stays as it is."""
    if input.ndim > 2:
        raise invalid_argument(
            f"t: takes a tensor of at most 2 axes, this one has {input.ndim}",
            "use mT to transpose the last two axes, or permute",
        )
    return input.T


@composite(aliases=("numpy_T",))
def T(input: Array) -> Array:
    """Reverse the order of all axes."""
    return permute(input, tuple(reversed(range(input.ndim))))


def _matrix(asked: str, input: Array) -> None:
    if input.ndim == 1:
        raise invalid_argument(
            f"{asked}: takes matrices, the tensor has {input.ndim} axes",
            "unsqueeze it to at least 2 axes",
        )


def _conjugated(input: Array) -> Array:
    """The conjugate where there is an imaginary part; a real tensor stays itself."""
    return _conj(input) if kind(input) == "c" else input


@composite()
def mT(input: Array) -> Array:
    """Transpose the last two axes."""
    _matrix("mT", input)
    return transpose(input, input.ndim - 2, input.ndim - 1) if input.ndim else input


@composite(aliases=("adjoint",))
def mH(input: Array) -> Array:
    """Transpose the last two axes and conjugate."""
    _matrix("mH", input)
    return _conjugated(mT(input))


@composite()
def H(input: Array) -> Array:
    """Transpose a matrix and conjugate it."""
    if input.ndim not in (0, 2):
        raise invalid_argument(
            f"H: takes a matrix, the tensor has {input.ndim} axes", "use mH for a batch of matrices"
        )
    return _conjugated(transpose(input, 0, 1) if input.ndim else input)


def _moved(source: Ints, destination: Ints, ndim: int) -> Ints:
    """The order of axes that puts each source at its destination and keeps the others' order."""
    if len(source) != len(destination):
        raise invalid_argument(
            f"movedim: {len(source)} source dims {list(source)} for {len(destination)} "
            f"destination dims {list(destination)}",
            "give a destination for each source",
        )
    froms = axes("movedim", source, ndim) if source else ()
    tos = axes("movedim", destination, ndim) if destination else ()
    rest = iter(i for i in range(ndim) if i not in froms)
    return tuple(froms[tos.index(i)] if i in tos else next(rest) for i in range(ndim))


@composite(aliases=("moveaxis",))
def movedim(input: Array, source: Ints, destination: Ints) -> Array:
    """Move axes to other places; the rest keep their order."""
    moved = permute(input, _moved(source, destination, input.ndim))
    return moved if input.ndim else called("AliasBackward0", moved)


def _squeezed(input: Array, gone: Ints) -> Array:
    return input.reshape([n for i, n in enumerate(input.shape) if n != 1 or i not in gone])


@view(
    vjp("g in the input's shape", input=lambda g, input_spec: reshape(g, input_spec.shape)),
    grad_name="SqueezeBackward1",
)
def squeeze(xp: Any, input: Array, dim: Dim) -> Array:
    """Drop axes of size 1: this one, these, or all."""
    return _squeezed(input, (dim,))


@view(
    vjp(input=lambda g, input_spec: reshape(g, input_spec.shape)),
    name="squeeze",
    grad_name=lambda named: f"SqueezeBackward{0 if named['dim'] is None else 2}",
)
def _squeeze_dims(xp: Any, input: Array, dim: Ints | None = None) -> Array:
    """Drop several axes of size 1, or all."""
    named = axes("squeeze", dim, input.ndim) if dim != () else ()
    return _squeezed(input, named)


@view(vjp("g without the axis", input=lambda g, input_spec: reshape(g, input_spec.shape)))
def unsqueeze(xp: Any, input: Array, dim: int) -> Array:
    """Insert an axis of size 1."""
    at = axis("unsqueeze", dim, input.ndim + 1)
    return input.reshape((*input.shape[:at], 1, *input.shape[at:]))


@composite()
def flatten(input: Array, start_dim: int = 0, end_dim: int = -1) -> Array:
    """Fold a run of axes into one."""
    first, last = (axis("flatten", d, input.ndim) for d in (start_dim, end_dim))
    if first > last:
        raise invalid_argument(
            f"flatten: start_dim {start_dim} lies behind end_dim {end_dim}",
            "start_dim must not come after end_dim",
        )
    if input.ndim and first == last:
        return input
    shape = tuple(input.shape)
    return reshape(input, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@composite()
def unflatten(input: Array, dim: int, sizes: Ints) -> Array:
    """Unfold one axis into several; one of the sizes may be -1."""
    place, shape = axis("unflatten", dim, input.ndim), tuple(input.shape)
    if not sizes or not shape:
        raise invalid_argument(
            f"unflatten: {list(sizes)} of {list(shape)} names no axis",
            "give at least one size, and a tensor with axes",
        )
    known = prod(n for n in sizes if n != -1)
    if known != shape[place] and (-1 not in sizes or not known or shape[place] % known):
        raise shape_mismatch(
            f"unflatten: the sizes {list(sizes)} don't multiply to {shape[place]}, "
            f"the size of dim {dim} of {list(shape)}",
            "their product must be that size; one of them may be -1",
        )
    whole = tuple(shape[place] // known if n == -1 else n for n in sizes)
    return see(input, (*shape[:place], *whole, *shape[place + 1 :]))


@composite()
def ravel(input: Array) -> Array:
    """See all elements in one axis; a copy where they don't lie row by row."""
    return see(contiguous(input), (-1,))


@composite()
def view_as(input: Array, other: Array) -> Array:
    """See a tensor in the shape of another."""
    return see(input, tuple(other.shape))


@composite()
def reshape_as(input: Array, other: Array) -> Array:
    """Give a tensor the shape of another."""
    return reshape(input, tuple(other.shape))


@composite()
def expand_as(input: Array, other: Array) -> Array:
    """Expand a tensor to the shape of another."""
    return expand(input, tuple(other.shape))


@composite()
def broadcast_to(input: Array, size: Ints) -> Array:
    """Expand a tensor to a shape."""
    return expand(input, size)
