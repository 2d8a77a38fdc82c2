"""Matrix products: BLAS on operands as they lie, transposed views included, and their gradients.

A stack of matrices times one matrix is a single product of the stack's rows. Gradients are matrix
products again: of `out = a b` they are `g bᴴ` and `aᴴ g`.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

from gradwire_engine import long_calls
from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import composite, primitive
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.kernels.shares import products
from gradwire_engine.long_calls import FEW
from gradwire_engine.op import APPLY
from gradwire_engine.ops.arithmetic import conj, mul
from gradwire_engine.ops.axes import mH, mT
from gradwire_engine.ops.beside import beside
from gradwire_engine.ops.expand import reshape
from gradwire_engine.promote import broadcast_shapes
from gradwire_engine.rule import vjp
from gradwire_engine.spec import Shape, Spec, bool_


def rows(x: Any) -> Any:
    """A stack of matrices, or a batch of vectors, as one matrix with all the rows."""
    return x if x.ndim == 2 else reshape(x, (prod(x.shape[:-1]), x.shape[-1]))


def _adjoint(x: Array) -> Array:
    """The conjugate transpose of each matrix, of raw arrays; a mere view where real."""
    return x.swapaxes(-1, -2).conj() if x.dtype.kind == "c" else x.swapaxes(-1, -2)


def _for_blas(xp: Any, x: Array) -> Array:
    """The array, or a copy where BLAS could not read it by strides."""
    down, across = x.strides[-2:]
    height, width = x.shape[-2:]
    unit = x.itemsize
    if (across == unit and down >= width * unit) or (down == unit and across >= height * unit):
        return x
    return xp.ascontiguousarray(x)


def product(xp: Any, a: Array, b: Array) -> Array:
    """The kernel of all matrix products: vectors, matrices and broadcast stacks of matrices."""
    if a.dtype != b.dtype:  # of nothing, see product_spec
        a = xp.zeros(a.shape, b.dtype)
    left, right = a.ndim, b.ndim
    if left >= 2 and not a.flags.c_contiguous:
        a = _for_blas(xp, a)
    if right >= 2 and not b.flags.c_contiguous:
        b = _for_blas(xp, b)
    few = a.size <= FEW >= b.size
    if left > 2 >= right and (a.flags.c_contiguous or right < 2):
        flat = a.reshape(prod(a.shape[:-1]), a.shape[-1])
        found = xp.matmul(flat, b) if few else long_calls.matmul(xp, flat, b)
        return found.reshape(*a.shape[:-1], *b.shape[1:])
    if right < 3:
        return xp.matmul(a, b) if few else long_calls.matmul(xp, a, b)
    return products(xp, a, b) if few else long_calls.matmul(xp, a, b, partial(products, xp))


def same_dtype(asked: str, **operands: Spec) -> None:
    """Matrix products don't promote; and there is none of bools, if they hold any."""
    first, *others = operands.values()
    if any(other.dtype is not first.dtype for other in others):
        given = ", ".join(f"{name} is {spec.dtype.name}" for name, spec in operands.items())
        raise dtype_mismatch(f"{asked}: {given}", "convert them to one dtype")
    empty = not all(spec.size for spec in operands.values())
    if first.dtype is bool_ and not (empty and any(len(s.shape) > 1 for s in operands.values())):
        raise dtype_mismatch(
            f"{asked}: there is no product of bool matrices",
            "convert to an integer or floating dtype",
            raised=NotImplementedError,
        )


def need_axes(asked: str, **wanted: tuple[Any, int]) -> None:
    """Each operand, given as (operand, number of axes), has to have just that many axes."""
    for name, (operand, ndim) in wanted.items():
        if len(operand.shape) != ndim:
            raise shape_mismatch(
                f"{asked}: {name} must have {ndim} axes, it is {list(operand.shape)}",
                "reshape it, or use matmul, which takes stacks of matrices",
            )


def product_spec(asked: str, input: Spec, other: Spec) -> Spec:
    """The spec of a matrix product; shape_mismatch where the inner sizes differ.

    Where torch multiplies a stack of matrices by another, and nothing is in one of them, it takes
    any two dtypes, and the second is the result's.
    """
    a, b = input.shape, other.shape
    if not a or not b:
        raise shape_mismatch(
            f"{asked}: both operands need at least one axis, they are {list(a)} and {list(b)}",
            "multiply by a number with mul",
        )
    if len(a) < 2 or len(b) < 3 or (input.size and other.size):
        same_dtype(asked, input=input, other=other)
    inner = b[-2] if len(b) > 1 else b[0]
    if a[-1] != inner:
        raise shape_mismatch(
            f"{asked}: input is {a}, other is {b}; the last axis of input ({a[-1]}) must equal "
            f"the {'next-to-last' if len(b) > 1 else 'only'} axis of other ({inner})",
            "transpose one?",
        )
    stack = broadcast_shapes(asked, a[:-2], b[:-2])
    return Spec((*stack, *a[-2:-1], *(b[-1:] if len(b) > 1 else ())), other.dtype, "")


def _left_formula(g: Any, other: Any, shape: Shape) -> Any:
    if other.ndim == 1:
        return mul(reshape(g, (*g.shape, 1)), conj(other))
    if len(shape) > 1:
        return matmul(g, mH(other))
    if other.ndim == 2:
        return matmul(conj(other), g)
    found = matmul(conj(other), reshape(g, (*g.shape, 1)))
    return reshape(found, found.shape[:-1])


@one_pass(_left_formula)
def left_gradient(xp: Any, g: Array, other: Array, shape: Shape) -> Array:
    """The gradient of a product's first operand, of this shape; broadcast axes still stand."""
    if other.ndim > 1 and len(shape) > 1:
        return product(xp, g, _adjoint(other))
    return _left_formula(g, other, shape)


def _right_formula(g: Any, input: Any, shape: Shape) -> Any:
    if len(shape) == 1:
        if input.ndim == 1:
            return mul(g, conj(input))
        return matmul(mH(rows(input)), reshape(g, (prod(g.shape),)))
    if input.ndim == 1:
        return mul(reshape(conj(input), (*input.shape, 1)), reshape(g, (*g.shape[:-1], 1, -1)))
    if len(shape) == 2:
        return matmul(mH(rows(input)), rows(g))
    return matmul(mH(input), g)


@one_pass(_right_formula)
def right_gradient(xp: Any, g: Array, input: Array, shape: Shape) -> Array:
    """The gradient of a product's second operand, of this shape; broadcast axes still stand."""
    if input.ndim == 1:
        return _right_formula(g, input, shape)
    if len(shape) > 2:
        return product(xp, _adjoint(input), g)
    if g.ndim == 1 and input.flags.c_contiguous and input.dtype.kind == "f":
        return xp.matmul(g, input)  # the same product, of which nothing has to be turned
    flat = input.reshape(prod(input.shape[:-1]), input.shape[-1])
    rest = (flat.shape[0],) if len(shape) == 1 else (flat.shape[0], shape[-1])
    return product(xp, _adjoint(flat), g.reshape(rest))


def _node(named: dict[str, Any]) -> str:
    a, b = len(named["input"].shape), len(named["other"].shape)
    if a <= 2 and b <= 2:
        return ("DotBackward0", "SqueezeBackward4", "MvBackward0", "MmBackward0")[2 * a + b - 3]
    return "UnsafeViewBackward0"


def _as_stack(b: Any, name: str, lead: int, vector: tuple[int, int]) -> Any:
    """An operand as a stack of matrices with so many axes in front of them, and the batch's."""
    item = b.operand(name)
    shape = tuple(item.shape)
    core = shape[-2:] if len(shape) > 1 else tuple(shape[0] if n < 0 else n for n in vector)
    if not b.batched(name):
        return reshape(item, core) if len(shape) < 2 else item
    ones = lead - max(len(shape) - 2, 0)
    return b.shaped(item.value, (*[1] * ones, *shape[:-2], *core))


def _product_for_each(b: Any) -> Any:
    """One product where the second operand is the same for all: examples are further rows."""
    a, c, rows, columns = b.inner("input"), b.inner("other"), b.axes("input"), b.axes("other")
    if not b.batched("other") and columns <= 2:
        return matmul(a, c)
    if not b.batched("input") and rows <= 2 and columns <= 2:
        if columns == 1:
            return matmul(c, a if rows == 1 else mT(a))
        return matmul(a, c)  # a product each, but no copy: faster than one of copied columns
    lead = max(rows - 2, columns - 2, 0)
    return matmul(_as_stack(b, "input", lead, (1, -1)), _as_stack(b, "other", lead, (-1, 1)))


def _one_by_many(a: Any, b: Any) -> bool:
    """Whether one matrix is multiplied with each of a stack of others."""
    if len(b.shape) < 3 or a.shape[-1:] != b.shape[-2:-1]:
        return False  # what does not fit is refused as ever
    alone = len(a.shape) == len(b.shape) == 3 and a.shape[0] == 1 != b.shape[0]
    return len(a.shape) == 2 or alone


def _turned(input: Any, other: Any) -> Any:
    """One matrix times each of a stack of others: to torch the transpose of a product of rows.

    What is computed so is a view where no copy is needed to lay the elements out in order; also in
    no_grad, where it is then a view that was made there.
    """
    if not input.requires_grad:
        return _as_it_is(input, other)
    same_dtype("matmul", input=input.spec, other=other.spec)
    height, width = input.shape[-2], other.shape[-1]
    if height > 1 and width > 1 and 0 not in other.shape[:-2]:
        found = _as_it_is(input, other)
        found.rename_node("CloneBackward0")
        return found
    return mT(matmul(mT(other), mT(rows(input))))


def _as_it_is(input: Any, other: Any) -> Any:
    return APPLY[type(input)](matmul, (input, other))


@primitive(
    vjp(
        "input: g otherᴴ; other: inputᴴ g",
        input=lambda g, other, input_spec: left_gradient(g, other, input_spec.shape),
        other=lambda g, input, other_spec: right_gradient(g, input, other_spec.shape),
    ),
    spec=lambda input, other: product_spec("matmul", input, other),
    aliases=("__matmul__", "linalg.matmul"),
    grad_name=_node,
    linear=("input", "other"),
    batch=_product_for_each,
    apart=(_one_by_many, _turned),
    itself=lambda input, other: (
        (input.ndim == 1 and other.ndim != 2) or (input.ndim == 2 and other.ndim <= 2),
        other.ndim <= 2,
    ),
)
def matmul(xp: Any, input: Array, other: Array) -> Array:
    """Matrix product of vectors, matrices or broadcast stacks of matrices."""
    return product(xp, input, other)


@composite()
def mm(input: Array, mat2: Array) -> Array:
    """Product of two matrices."""
    need_axes("mm", input=(input, 2), mat2=(mat2, 2))
    return matmul(input, mat2)


@composite(grad_name="BmmBackward0")
def bmm(input: Array, mat2: Array) -> Array:
    """Products of two equally long stacks of matrices."""
    need_axes("bmm", input=(input, 3), mat2=(mat2, 3))
    same_stack("bmm", input, mat2)
    return matmul(input, mat2)


def same_stack(asked: str, a: Any, b: Any) -> None:
    """Two stacks of matrices have to be equally long."""
    if a.shape[0] != b.shape[0]:
        raise shape_mismatch(
            f"{asked}: the stacks hold {a.shape[0]} and {b.shape[0]} matrices",
            "use matmul to broadcast",
        )


@composite()
def mv(input: Array, vec: Array) -> Array:
    """Product of a matrix and a vector."""
    if not input.shape:
        raise invalid_argument("mv: input has no axes", "give a matrix", raised=IndexError)
    need_axes("mv", input=(input, 2), vec=(vec, 1))
    return matmul(input, vec)


@composite()
def dot(input: Array, tensor: Array) -> Array:
    """Sum of the products of two vectors' elements."""
    need_axes("dot", input=(input, 1), tensor=(tensor, 1))
    return matmul(input, tensor)


@composite(grad_name="VdotBackward0")
def vdot(input: Array, other: Array) -> Array:
    """Inner product of two vectors, the first conjugated."""
    need_axes("vdot", input=(input, 1), other=(other, 1))
    found = matmul(conj(input), other)
    if input.dtype.kind != "c":
        return found
    pairs = ((input, other), (other, input))  # else the conjugate alone would be kept
    return beside(found, *[x for x, y in pairs if getattr(y, "requires_grad", False)])


@composite(aliases=("ger",))
def outer(input: Array, vec2: Array) -> Array:
    """The matrix of all products of two vectors' elements."""
    need_axes("outer", input=(input, 1), vec2=(vec2, 1))
    return mul(reshape(input, (input.shape[0], 1)), vec2)
