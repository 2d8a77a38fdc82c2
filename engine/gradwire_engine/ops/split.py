"""Views of all parts at once: split, chunk, unbind and what is made of them."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error, invalid_argument
from gradwire_engine.families import composite, view
from gradwire_engine.ops.join import cat, stack
from gradwire_engine.ops.known import elements, kind
from gradwire_engine.ops.views import slice_
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dim, Ints, axis

Pieces = tuple[Array, ...]

MOST = 65_536
"""The most tensors that one call gives."""


def _axis(asked: str, dim: int, shape: tuple[int, ...]) -> int:
    if not shape:
        raise invalid_argument(
            f"{asked}: the tensor has no axes",
            "reshape it to (1,)",
            raised=IndexError if asked == "unbind" else RuntimeError,
        )
    return axis(asked, dim, len(shape))


def _few(asked: str, count: int) -> int:
    """How many tensors a call may give: each costs far more than its elements."""
    if count > MOST:
        raise error(
            "limit_exceeded",
            f"{asked}: it would give {count} tensors, and the limit is {MOST}",
            "cut into larger pieces, or index what you need",
        )
    return count


def _pieces(input: Array, sizes: Ints, dim: int) -> list[Array]:
    """Consecutive parts of an axis, of these sizes."""
    found, start = [], 0
    for size in sizes:
        found.append(input[(slice(None),) * dim + (slice(start, start + size),)])
        start += size
    return found


def _even(asked: str, length: int, size: int) -> Ints:
    """Sizes of pieces of one size, the last of which may be smaller."""
    if size < 0 or (not size and length):
        raise invalid_argument(
            f"{asked}: pieces of size {size} of an axis of size {length}",
            "the size must be positive",
        )
    if not length:
        return (0,)
    _few(asked, -(-length // size))
    return tuple(min(size, length - start) for start in range(0, length, size))


@view(vjp("the pieces' gradients, joined", input=lambda g, dim: cat(g, dim)), many=True)
def split(xp: Any, input: Array, split_size_or_sections: int, dim: Dim = 0) -> Any:
    """Cut an axis into pieces of one size, or of the sizes in a list."""
    place = _axis("split", dim, input.shape)
    return _pieces(input, _even("split", input.shape[place], split_size_or_sections), place)


@view(
    vjp(input=lambda g, dim: cat(g, dim)),
    name="split",
    many=True,
    grad_name="SplitWithSizesBackward0",
)
def _split_sizes(xp: Any, input: Array, split_size_or_sections: Ints, dim: Dim = 0) -> Any:
    """Cut an axis into pieces of these sizes."""
    return _cut(input, split_size_or_sections, dim)


def _cut(input: Array, sizes: Ints, dim: int) -> list[Array]:
    place = _axis("split_with_sizes", dim, input.shape)
    length = input.shape[place]
    if sum(sizes) != length or any(n < 0 for n in sizes):
        raise invalid_argument(
            f"split_with_sizes: the sizes {list(sizes)} don't add up to {length}, "
            f"the size of dim {place} of {list(input.shape)}",
            "give sizes >= 0 with that sum",
        )
    return _pieces(input, sizes, place)


@view(vjp("the pieces' gradients, joined", input=lambda g, dim: cat(g, dim)), many=True)
def split_with_sizes(xp: Any, input: Array, split_sizes: Ints, dim: Dim = 0) -> Any:
    """Cut an axis into pieces of these sizes."""
    return _cut(input, split_sizes, dim)


@composite()
def chunk(input: Array, chunks: int, dim: int = 0) -> Pieces:
    """Cut an axis into so many pieces of one size, the last of which may be smaller or missing."""
    place = _axis("chunk", dim, input.shape)
    if chunks < 1:
        raise invalid_argument(f"chunk: {chunks} chunks", "ask for at least one")
    size = -(-input.shape[place] // chunks)
    if not size:
        return _split_sizes(input, (0,) * _few("chunk", chunks), place)
    return split(input, size, place)


def _between(length: int, cuts: Ints) -> list[tuple[int, int]]:
    """Where pieces start and end that are cut at these places, as slices would be."""
    ends = [*cuts, length]
    return [(0 if i == 0 else cuts[i - 1], end) for i, end in enumerate(ends)]


@composite()
def tensor_split(input: Array, indices_or_sections: int, dim: int = 0) -> Pieces:
    """Cut an axis into so many pieces as equal as can be, or at the places in a list."""
    sections, place = indices_or_sections, _axis("tensor_split", dim, input.shape)
    if sections < 1:
        raise invalid_argument(f"tensor_split: {sections} sections", "ask for at least one")
    size, more = divmod(input.shape[place], _few("tensor_split", sections))
    cuts = tuple(size * i + min(i, more) for i in range(1, sections))
    return _tensor_split_at(input, cuts, place)


@composite(name="tensor_split")
def _tensor_split_at(input: Array, indices_or_sections: Ints, dim: int = 0) -> Pieces:
    """Cut an axis at these places."""
    place = _axis("tensor_split", dim, input.shape)
    ranges = _between(input.shape[place], indices_or_sections)
    return tuple(slice_(input, place, start, end, 1) for start, end in ranges)


@composite(name="tensor_split")
def _tensor_split_by(input: Array, tensor_indices_or_sections: Array, dim: int = 0) -> Pieces:
    """Cut an axis into as many pieces, or at the places, that a tensor says."""
    where = tensor_indices_or_sections
    if len(where.shape) > 1 or kind(where) != "i":
        raise invalid_argument(
            f"tensor_split: sections {where.dtype} of shape {list(where.shape)}",
            "give an int64 tensor with at most one axis",
        )
    found = elements("tensor_split", where, "give ints").tolist()
    if isinstance(found, int):
        return tensor_split(input, found, dim)
    return _tensor_split_at(input, tuple(found), dim)


def _split_along(asked: str, input: Array, where: int | Ints, dim: int, least: int) -> Any:
    if input.ndim < least:
        raise invalid_argument(
            f"{asked}: takes a tensor with at least {least} axes, this one has {input.ndim}",
            "reshape it",
        )
    dim = min(dim, input.ndim - 1)
    if isinstance(where, tuple):
        return _tensor_split_at(input, where, dim)
    if where < 1 or input.shape[dim] % where:
        raise invalid_argument(
            f"{asked}: an axis of size {input.shape[dim]} in {where} equal pieces",
            "the number of pieces must divide the size; tensor_split allows a rest",
        )
    return tensor_split(input, where, dim)


def _declare(name: str, dim: int, least: int, axis: str, beside: str = "") -> None:
    """The names of pieces along a certain axis: so many of them, or cut at certain places."""

    def in_pieces(input: Array, indices_or_sections: int) -> Pieces:
        return _split_along(name, input, indices_or_sections, dim, least)

    def at_places(input: Array, indices_or_sections: Ints) -> Pieces:
        return _split_along(name, input, indices_or_sections, dim, least)

    in_pieces.__doc__ = f"Cut into equal pieces, or at places, along the {axis} axis{beside}."
    at_places.__doc__ = f"Cut at these places along the {axis} axis."
    composite(name)(in_pieces)
    composite(name)(at_places)


_declare("hsplit", 1, 1, "second", " (the only one of a vector)")
_declare("vsplit", 0, 2, "first")
_declare("dsplit", 2, 3, "third")


@view(vjp("the slices' gradients, stacked", input=lambda g, dim: stack(g, dim)), many=True)
def unbind(xp: Any, input: Array, dim: Dim = 0) -> Any:
    """All slices along an axis, which is dropped."""
    place = _axis("unbind", dim, input.shape)
    before = (slice(None),) * place
    return [input[(*before, i, ...)] for i in range(_few("unbind", input.shape[place]))]
