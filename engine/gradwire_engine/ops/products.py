"""Products made of products: Kronecker, cross, bilinear, chains of matrices."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.accepted import BOOLS, one_dtype, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import composite
from gradwire_engine.ops.arithmetic import conj, mul, sub
from gradwire_engine.ops.arrange import roll
from gradwire_engine.ops.axes import broadcast_to
from gradwire_engine.ops.beside import beside
from gradwire_engine.ops.einsum import einsum
from gradwire_engine.ops.expand import contiguous, reshape, sum, unsafe_view, view
from gradwire_engine.ops.matmul import matmul, vdot
from gradwire_engine.ops.views import diagonal
from gradwire_engine.promote import broadcast_shapes
from gradwire_engine.signature import Arrays, axis
from gradwire_engine.spec import Shape


@composite(grad_name="TraceBackward0")
def trace(input: Array) -> Array:
    """The sum of a matrix' diagonal."""
    if input.ndim != 2:
        raise shape_mismatch(
            f"trace: takes a matrix, not {list(input.shape)}",
            "sum the diagonal of a stack of matrices",
        )
    refuse("trace", (BOOLS,), input)
    return sum(diagonal(input))


@composite(grad_name="UnsafeViewBackward0")
def kron(input: Array, other: Array) -> Array:
    """The Kronecker product: every element of input times the whole of other, in blocks."""
    ndim = max(input.ndim, other.ndim)
    a = (*[1] * (ndim - input.ndim), *input.shape)
    b = (*[1] * (ndim - other.ndim), *other.shape)
    left = _in_blocks(input, tuple(n for size in a for n in (size, 1)))
    right = _in_blocks(other, tuple(n for size in b for n in (1, size)))
    return unsafe_view(mul(left, right), tuple(m * n for m, n in zip(a, b, strict=True)))


def _in_blocks(value: Any, size: Shape) -> Any:
    """An operand of kron in another shape; of an inference tensor it is one, too."""
    whole = contiguous(value)
    return (view if getattr(whole, "is_inference", False) else unsafe_view)(whole, size)


@composite(name="nn.functional.bilinear", aliases=("bilinear",), numbers=(), real_gradients=True)
def bilinear(input1: Array, input2: Array, weight: Array, bias: Array | None = None) -> Array:
    """input1ᵀ weight[k] input2 for each output k, plus bias."""
    wanted = (weight.shape[0], input1.shape[-1], input2.shape[-1]) if weight.ndim == 3 else ()
    if weight.shape != wanted or input1.shape[:-1] != input2.shape[:-1]:
        raise shape_mismatch(
            f"bilinear: input1 is {list(input1.shape)}, input2 is {list(input2.shape)}, "
            f"weight is {list(weight.shape)}",
            "inputs are (..., m) and (..., n) with equal batches, weight is (out, m, n)",
        )
    batch = input1.shape[:-1]
    one, two = (reshape(x, (prod(batch), x.shape[-1])) for x in (input1, input2))
    out = reshape(einsum("bi,oij,bj->bo", (one, weight, two)), (*batch, weight.shape[0]))
    return out if bias is None else out + bias


@composite(name="linalg.vecdot", aliases=("vecdot",))
def vecdot(x: Array, y: Array, *, dim: int = -1) -> Array:
    """Inner products of vectors along an axis, the first conjugated."""
    if x.dtype.kind not in "fcV" or y.dtype.kind not in "fcV":
        raise dtype_mismatch(
            f"linalg.vecdot: takes floating or complex, got {x.dtype.name} and {y.dtype.name}",
            "convert them first",
        )
    one_dtype("linalg.vecdot", x=x, y=y)
    if x.ndim == y.ndim == 1:
        return vdot(x, y)
    if (
        x.shape
        and y.shape
        and x.shape[dim] != y.shape[dim]
        and 1 not in (x.shape[dim], y.shape[dim])
    ):
        raise shape_mismatch(
            f"linalg.vecdot: x is {list(x.shape)}, y is {list(y.shape)}",
            "they must be equally long along dim",
        )
    found = mul(conj(x), y)
    return sum(found, (dim,))


def _cross(asked: str, a: Any, b: Any, dim: int) -> Any:
    one_dtype(asked, input=a, other=b)
    refuse(asked, (BOOLS,), a)
    shape = broadcast_shapes(asked, a.shape, b.shape)
    place = axis(asked, dim, len(shape))
    if a.ndim != b.ndim or a.shape[dim] != 3 or b.shape[dim] != 3:
        raise shape_mismatch(
            f"{asked}: the operands are {list(a.shape)} and {list(b.shape)}, dim is {dim}",
            "they need equally many axes, and size 3 along dim",
        )
    kept = [x for x, other in ((a, b), (b, a)) if getattr(other, "requires_grad", False)]
    a, b = (x if x.shape == shape else broadcast_to(x, shape) for x in (a, b))
    (a1, a2), (b1, b2) = ([roll(x, (-by,), (place,)) for by in (1, 2)] for x in (a, b))
    return beside(sub(mul(a1, b2), mul(a2, b1)), *kept)


@composite(name="linalg.cross", grad_name="LinalgCrossBackward0")
def linalg_cross(input: Array, other: Array, *, dim: int = -1) -> Array:
    """The cross product of vectors of three numbers along an axis."""
    return _cross("linalg.cross", input, other, dim)


@composite(grad_name="LinalgCrossBackward0")
def cross(input: Array, other: Array, dim: int | None = None) -> Array:
    """The cross product of vectors of three numbers, along the first axis of size 3 by default."""
    if dim is None:
        if 3 not in input.shape:
            raise shape_mismatch(
                f"cross: no axis of {list(input.shape)} has size 3", "name the axis with dim"
            )
        dim = input.shape.index(3)
    return _cross("cross", input, other, dim)


def _cost(shapes: list[tuple[int, int]]) -> list[list[int]]:
    """Where to split each run of matrices for the fewest multiplications (dynamic programming).

    As early as that is possible; three matrices, as in torch, as late.
    """
    count = len(shapes)
    best = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = [
                best[i][k] + best[k + 1][j] + shapes[i][0] * shapes[k][1] * shapes[j][1]
                for k in range(i, j)
            ]
            best[i][j] = min(costs)
            equal = [k for k, cost in enumerate(costs, i) if cost == best[i][j]]
            split[i][j] = equal[-1 if count == 3 else 0]
    return split


@composite(name="linalg.multi_dot", aliases=("chain_matmul",))
def multi_dot(tensors: Arrays) -> Array:
    """Product of several matrices in the cheapest order; first and last may be vectors."""
    ends = any(x.ndim not in (1, 2) for x in (tensors[0], tensors[-1]))
    if len(tensors) < 2 or ends or any(x.ndim != 2 for x in tensors[1:-1]):
        raise invalid_argument(
            f"linalg.multi_dot: got {[list(x.shape) for x in tensors]}",
            "give at least two matrices; only the first and the last may be vectors",
        )
    first, last = tensors[0], tensors[-1]
    left = reshape(first, (1, first.shape[0])) if first.ndim == 1 else first
    right = reshape(last, (last.shape[0], 1)) if last.ndim == 1 else last
    chain = [left, *tensors[1:-1], right]
    split = _cost([tuple(x.shape) for x in chain])

    def run(i: int, j: int) -> Any:
        return chain[i] if i == j else matmul(run(i, split[i][j]), run(split[i][j] + 1, j))

    shape = (*first.shape[: first.ndim - 1], *last.shape[1:])
    found = run(0, len(chain) - 1)
    return reshape(found, shape)
