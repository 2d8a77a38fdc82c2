"""Products added to a tensor: beta input + alpha product, in one new array."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import parts
from gradwire_engine.errors import shape_mismatch
from gradwire_engine.families import composite, elementwise, primitive
from gradwire_engine.ops.arithmetic import add, conj, mul, need_factor, times
from gradwire_engine.ops.axes import unsqueeze
from gradwire_engine.ops.creation import fits
from gradwire_engine.ops.expand import sum as summed
from gradwire_engine.ops.logical import logical_or
from gradwire_engine.ops.matmul import (
    left_gradient,
    matmul,
    need_axes,
    product,
    product_spec,
    right_gradient,
    same_dtype,
    same_stack,
)
from gradwire_engine.promote import broadcast_shapes
from gradwire_engine.rule import vjp
from gradwire_engine.spec import Number, Spec, dtype_of


def _added_spec(asked: str, input: Spec, found: Spec) -> Spec:
    same_dtype(asked, input=input, product=found)
    _need_fit(asked, input, found)
    return found


def _need_fit(asked: str, input: Any, found: Any) -> None:
    if broadcast_shapes(asked, input.shape, found.shape) != found.shape:
        raise shape_mismatch(
            f"{asked}: input is {list(input.shape)}, the product is {list(found.shape)}",
            "input must broadcast to the product's shape",
        )


def _added(xp: Any, input: Array, found: Array, beta: Number, alpha: Number) -> Array:
    """beta * input + alpha * found, into found; beta = 0 ignores the input, NaN and all.

    Of integers the factors are cut to integers, as in torch.
    """
    if found.dtype.kind in "iu":
        dtype = dtype_of(found.dtype)
        beta, alpha = fits("beta", beta, dtype), fits("alpha", alpha, dtype)
    if alpha != 1:
        found *= alpha
    if beta != 0:
        found += input if beta == 1 else xp.multiply(input, beta)
    return found


def _scaled(x: Any, factor: Number) -> Any:
    return x if factor == 1 else mul(x, factor.conjugate())


def _addmm_spec(input: Spec, mat1: Spec, mat2: Spec) -> Spec:
    need_axes("addmm", mat1=(mat1, 2), mat2=(mat2, 2))
    return _added_spec("addmm", input, product_spec("addmm", mat1, mat2))


def _sum(input: Any, found: Any, beta: Number, alpha: Number) -> Any:
    """The same in ops."""
    if not found.dtype.differentiable:
        beta, alpha = int(beta), int(alpha)  # type: ignore[arg-type]
    found = found if alpha == 1 else mul(found, alpha)
    return found if beta == 0 else add(found, input if beta == 1 else mul(input, beta))


@primitive(
    vjp(
        "input: beta g; mat1: alpha g mat2ᴴ; mat2: alpha mat1ᴴ g",
        input=lambda g, beta: _scaled(g, beta),
        mat1=lambda g, mat2, alpha, mat1_spec: _scaled(
            left_gradient(g, mat2, mat1_spec.shape), alpha
        ),
        mat2=lambda g, mat1, alpha, mat2_spec: _scaled(
            right_gradient(g, mat1, mat2_spec.shape), alpha
        ),
    ),
    spec=_addmm_spec,
    inplace=True,
    batch=parts(
        lambda input, mat1, mat2, beta, alpha: _sum(input, matmul(mat1, mat2), beta, alpha)
    ),
)
def addmm(
    xp: Any, input: Array, mat1: Array, mat2: Array, *, beta: Number = 1, alpha: Number = 1
) -> Array:
    """Add a product of two matrices: beta input + alpha mat1 mat2."""
    return _added(xp, input, product(xp, mat1, mat2), beta, alpha)


def _addmv_spec(input: Spec, mat: Spec, vec: Spec) -> Spec:
    need_axes("addmv", mat=(mat, 2), vec=(vec, 1))
    return _added_spec("addmv", input, product_spec("addmv", mat, vec))


@primitive(
    vjp(
        "input: beta g; mat: alpha g vecᴴ; vec: alpha matᴴ g",
        input=lambda g, beta: _scaled(g, beta),
        mat=lambda g, vec, alpha, mat_spec: _scaled(left_gradient(g, vec, mat_spec.shape), alpha),
        vec=lambda g, mat, alpha, vec_spec: _scaled(right_gradient(g, mat, vec_spec.shape), alpha),
    ),
    spec=_addmv_spec,
    inplace=True,
    batch=parts(lambda input, mat, vec, beta, alpha: _sum(input, matmul(mat, vec), beta, alpha)),
)
def addmv(
    xp: Any, input: Array, mat: Array, vec: Array, *, beta: Number = 1, alpha: Number = 1
) -> Array:
    """Add a product of a matrix and a vector: beta input + alpha mat vec."""
    return _added(xp, input, product(xp, mat, vec), beta, alpha)


def _stacks_spec(asked: str, input: Spec, batch1: Spec, batch2: Spec) -> Spec:
    need_axes(asked, batch1=(batch1, 3), batch2=(batch2, 3))
    same_stack(asked, batch1, batch2)
    found = product_spec(asked, batch1, batch2)
    summed = found.with_(shape=found.shape[1:]) if asked == "addbmm" else found
    return _added_spec(asked, input, summed)


_OF_STACKS = vjp(
    "input: beta g; batch1: alpha g batch2ᴴ; batch2: alpha batch1ᴴ g",
    input=lambda g, beta: _scaled(g, beta),
    batch1=lambda g, batch2, alpha: _scaled(left_gradient(g, batch2, (0, 0, 0)), alpha),
    batch2=lambda g, batch1, alpha: _scaled(right_gradient(g, batch1, (0, 0, 0)), alpha),
)


@primitive(
    _OF_STACKS,
    spec=lambda input, batch1, batch2: _stacks_spec("baddbmm", input, batch1, batch2),
    inplace=True,
    batch=parts(
        lambda input, batch1, batch2, beta, alpha: _sum(input, matmul(batch1, batch2), beta, alpha)
    ),
)
def baddbmm(
    xp: Any, input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1
) -> Array:
    """Add a stack of products of matrices: beta input + alpha batch1 batch2."""
    return _added(xp, input, product(xp, batch1, batch2), beta, alpha)


@primitive(
    _OF_STACKS,
    spec=lambda input, batch1, batch2: _stacks_spec("addbmm", input, batch1, batch2),
    inplace=True,
    batch=parts(
        lambda input, batch1, batch2, beta, alpha: _sum(
            input, summed(matmul(batch1, batch2), (0,)), beta, alpha
        )
    ),
)
def addbmm(
    xp: Any, input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1
) -> Array:
    """Add a sum of products of matrices: beta input + alpha Σ batch1 batch2."""
    found = product(xp, batch1, batch2).sum(0, dtype=input.dtype)
    return _added(xp, input, found, beta, alpha)


@composite(grad_name="AddrBackward0", inplace=True)
def addr(input: Array, vec1: Array, vec2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """Add the products of two vectors' elements: beta input + alpha vec1 vec2ᵀ."""
    operands = (input, vec1, vec2)
    need_factor("beta", beta, *operands)
    need_factor("alpha", alpha, *operands)
    need_axes("outer", input=(vec1, 1), vec2=(vec2, 1))
    column, row = unsqueeze(vec1, 1), unsqueeze(vec2, 0)
    _need_fit("addr", input, Spec((vec1.shape[0], vec2.shape[0]), vec1.dtype, ""))
    if all(x.dtype.kind == "b" for x in operands):
        return logical_or(mul(input, bool(beta)), mul(column, mul(row, bool(alpha))))
    return _products_added(input, column, row, beta, alpha)


@elementwise(
    vjp(
        "input: beta g; column: alpha g conj(row); row: alpha g conj(column)",
        input=lambda g, beta: _scaled(g, beta),
        column=lambda g, row, alpha: _scaled(g * conj(row), alpha),
        row=lambda g, column, alpha: _scaled(g * conj(column), alpha),
    ),
    public=False,
    grad_name="AddrBackward0",
    exact=True,
)
def _products_added(
    xp: Any, input: Array, column: Array, row: Array, beta: Number = 1, alpha: Number = 1
) -> Array:
    """The products of a column's and a row's elements, added to input unless beta is 0."""
    found = xp.multiply(column, row)
    found = found if alpha == 1 else times(xp, found, alpha)
    if beta == 0:
        return found
    return xp.add(input if beta == 1 else times(xp, input, beta), found)
