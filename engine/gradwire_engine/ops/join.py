"""Joining tensors: cat, stack, and what is made of them."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import parts
from gradwire_engine.errors import invalid_argument, shape_mismatch
from gradwire_engine.families import composite, primitive
from gradwire_engine.op import Inferred
from gradwire_engine.ops.atleast import atleast_1d, atleast_2d, atleast_3d
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.pad import constant_pad_nd
from gradwire_engine.ops.views import select, slice_, zeros_of
from gradwire_engine.promote import Weak, result_type
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Arrays, axis
from gradwire_engine.spec import Shape, Spec


def _some(asked: str, tensors: Any) -> tuple[Spec, ...]:
    """The specs of a list of tensors that must not be empty and holds no numbers."""
    wrong = [i for i, t in enumerate(tensors) if t is None or isinstance(t, Weak)]
    if wrong or not tensors:
        raise invalid_argument(
            f"{asked}: expected a non-empty list of tensors"
            + (f", element {wrong[0]} is none" if wrong else ""),
            "give at least one tensor; numbers and null are none",
            raised=TypeError if wrong else RuntimeError,
        )
    return tuple(tensors)


def _nothing(shape: Shape) -> bool:
    """A vector without elements joins anything, as torch has allowed since its first days."""
    return tuple(shape) == (0,)


def _joined(tensors: tuple[Spec, ...], dim: int) -> Inferred:
    specs = _some("cat", tensors)
    if any(not s.shape for s in specs):
        raise invalid_argument(
            "cat: a tensor without axes cannot be joined", "use stack, or reshape it to (1,)"
        )
    first = next((s for s in specs if not _nothing(s.shape)), specs[0])
    # torch passes over tensors of shape (0,), and any axis will do if all are
    place = 0 if _nothing(first.shape) else axis("cat", dim, len(first.shape))
    length = 0
    for i, spec in enumerate(specs):
        if _nothing(spec.shape):
            continue
        if _but(spec.shape, place) != _but(first.shape, place):
            raise shape_mismatch(
                f"cat: tensor {i} is {list(spec.shape)}, the first {list(first.shape)}; "
                f"except in dim {place} they must be equal",
                "reshape or narrow one of them",
            )
        length += spec.shape[place]
    shape = (*first.shape[:place], length, *first.shape[place + 1 :])
    dtype = result_type(specs)
    return Inferred(Spec(shape, dtype, ""), dtype)


def _but(shape: Shape, place: int) -> tuple[int, Shape]:
    return len(shape), shape[:place] + shape[place + 1 :]


def _cut(g: Any, specs: tuple[Spec, ...], dim: int) -> list[Any]:
    """The parts of a joined tensor's gradient that belong to each tensor."""
    nothing = all(_nothing(spec.shape) for spec in specs)
    place, start, found = 0 if nothing else axis("cat", dim, g.ndim), 0, []
    for spec in specs:
        if _nothing(spec.shape):
            found.append(zeros_of(g, (0,)))
            continue
        stop = start + spec.shape[place]
        found.append(slice_(g, place, start, stop, 1))
        start = stop
    return found


def _joined_in_each(b: Any) -> Any:
    given = b.operand("tensors")
    kept = [t for t in given if not _nothing(t.shape)] or given[:1]
    place = axis("cat", b["dim"], kept[0].ndim) + 1
    return b.again(tensors=[b.fronted(t) for t in kept], dim=place)


@primitive(
    vjp(tensors=lambda g, tensors_spec, dim: _cut(g, tensors_spec, dim)),
    spec=_joined,
    aliases=("concat", "concatenate"),
    exact=True,
    formula="each tensor: its part of g",
    linear=True,
    batch=_joined_in_each,
)
def cat(xp: Any, tensors: Arrays, dim: int = 0) -> Array:
    """Join tensors along an axis they have."""
    kept = [t for t in tensors if not _nothing(t.shape)] or [tensors[0]]
    return xp.concatenate(kept, axis=0 if _nothing(kept[0].shape) else dim)


def _stacked(tensors: tuple[Spec, ...], dim: int) -> Inferred:
    specs = _some("stack", tensors)
    shape = specs[0].shape
    place = axis("stack", dim, len(shape) + 1)
    for i, spec in enumerate(specs):
        if spec.shape != shape:
            raise shape_mismatch(
                f"stack: tensor {i} is {list(spec.shape)}, the first {list(shape)}; "
                "they must be equal",
                "use cat to join along an axis they have",
            )
    dtype = result_type(specs)
    return Inferred(Spec((*shape[:place], len(specs), *shape[place:]), dtype, ""), dtype)


def _stacked_in_each(b: Any) -> Any:
    given = b.operand("tensors")
    place = axis("stack", b["dim"], given[0].ndim + 1) + 1
    return b.again(tensors=[b.fronted(t) for t in given], dim=place)


@primitive(
    vjp(
        tensors=lambda g, tensors_spec, dim: [
            select(g, axis("stack", dim, g.ndim), i) for i in range(len(tensors_spec))
        ]
    ),
    spec=_stacked,
    exact=True,
    formula="each tensor: its slice of g",
    linear=True,
    batch=_stacked_in_each,
)
def stack(xp: Any, tensors: Arrays, dim: int = 0) -> Array:
    """Join tensors of one shape along a new axis."""
    return xp.stack(tensors, axis=dim)


@composite()
def hstack(tensors: Arrays) -> Array:
    """Join side by side: along the second axis, vectors along their only one."""
    _some("hstack", tensors)
    raised = atleast_1d(tensors)
    return cat(raised, 0 if raised[0].ndim == 1 else 1)


@composite(aliases=("row_stack",))
def vstack(tensors: Arrays) -> Array:
    """Join one below the other: along the first axis, vectors as rows."""
    _some("vstack", tensors)
    return cat(atleast_2d(tensors), 0)


@composite()
def dstack(tensors: Arrays) -> Array:
    """Join in depth: along the third axis."""
    _some("dstack", tensors)
    return cat(atleast_3d(tensors), 2)


@composite()
def column_stack(tensors: Arrays) -> Array:
    """Join along the second axis, vectors as columns."""
    return cat([reshape(t, (prod(t.shape), 1)) if t.ndim < 2 else t for t in tensors], 1)


def _sides(shape: Shape) -> tuple[int, int]:
    """Rows and columns of a block: a scalar is 1×1, a vector a row."""
    return (1, *shape)[-2:] if shape else (1, 1)  # type: ignore[return-value]


def _blocks(tensors: tuple[Spec, ...]) -> Inferred:
    specs = _some("block_diag", tensors)
    if any(len(s.shape) > 2 for s in specs):
        raise shape_mismatch(
            f"block_diag: takes tensors of at most 2 axes, got {', '.join(map(str, specs))}",
            "give matrices",
        )
    rows, columns = zip(*(_sides(s.shape) for s in specs), strict=True)
    dtype = result_type(specs)
    return Inferred(Spec((sum(rows), sum(columns)), dtype, ""), dtype)


def _block_parts(g: Any, specs: tuple[Spec, ...]) -> list[Any]:
    row, column, found = 0, 0, []
    for spec in specs:
        down, right = _sides(spec.shape)
        if spec.shape == (0,):  # of which torch has zeros that no history leads to
            found.append(zeros_of(g, (0,)))
        else:
            part = slice_(slice_(g, 0, row, row + down, 1), 1, column, column + right, 1)
            found.append(reshape(part, spec.shape))
        row, column = row + down, column + right
    return found


def _blocks_apart(tensors: Any) -> Any:
    """The same in ops: each block between zeros to its left and right, one below the other."""
    sides = [_sides(tuple(t.shape)) for t in tensors]
    width, left, found = sum(right for _, right in sides), 0, []
    for tensor, (down, right) in zip(tensors, sides, strict=True):
        block = reshape(tensor, (down, right))
        found.append(constant_pad_nd(block, (left, width - left - right, 0, 0), 0))
        left += right
    return cat(found, 0)


@primitive(
    vjp(tensors=lambda g, tensors_spec: _block_parts(g, tensors_spec)),
    spec=_blocks,
    exact=True,
    formula="each tensor: its block of g",
    batch=parts(lambda tensors: _blocks_apart(tensors)),
    linear=True,
)
def block_diag(xp: Any, tensors: Arrays) -> Array:
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
    sides = [_sides(t.shape) for t in tensors]
    out = xp.zeros((sum(s[0] for s in sides), sum(s[1] for s in sides)), tensors[0].dtype)
    row, column = 0, 0
    for tensor, (down, right) in zip(tensors, sides, strict=True):
        out[row : row + down, column : column + right] = tensor
        row, column = row + down, column + right
    return out
