"""Products over an axis or over all, with derivatives that need no division."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import in_rows
from gradwire_engine.families import reduction
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.ops.arithmetic import add, conj, div, mul
from gradwire_engine.ops.arrange import flip
from gradwire_engine.ops.beside import beside
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.cumulative import cumprod, shifted
from gradwire_engine.ops.expand import expand, int_to_int64, reshape, with_kept_dims
from gradwire_engine.ops.known import without_zeros
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dim
from gradwire_engine.spec import DTYPES, DType


def _of_the_others(g: Any, input: Any, out: Any, dim: int) -> Any:
    """g times the product of all other elements: of those before and of those behind.

    Where no element is 0 it is recorded as the quotient that torch takes, by way of the result. Of
    what is known without elements both ways have to lead to the same places, so that the other one
    goes by the result too, and takes nothing from it.
    """
    if not input.shape:
        return g
    found, kept = without_zeros(input), with_kept_dims(g, (dim,), input.shape)
    if found:
        return mul(kept, conj(div(with_kept_dims(out, (dim,), input.shape), input)))
    if input.shape[dim] == 1:
        return beside(kept, input, zeros=True)
    if found is False:
        kept = add(kept, with_kept_dims(mul(out, 0), (dim,), input.shape))
    before = shifted(cumprod(input, dim), dim, 1, 1)
    turned = flip(input, (dim,))
    behind = flip(shifted(cumprod(turned, dim), dim, 1, 1), (dim,))
    return mul(expand(kept, input.shape), conj(mul(before, behind)))


@one_pass(_of_the_others)
def product_gradient(xp: Any, g: Array, input: Array, out: Array, dim: int) -> Array:
    """The gradient of a product along an axis: by division where no factor is 0."""
    if not input.ndim or not input.size or not bool(xp.all(input != 0)):
        return _of_the_others(g, input, out, dim)
    share = xp.multiply(g, xp.conjugate(out))
    return xp.expand_dims(share, dim) / xp.conjugate(input)


def _in_dtype(input: Any, g: Any) -> Any:
    """The factors as they were multiplied, in the result's dtype."""
    return input if input.dtype == g.dtype else to_dtype(input, DTYPES[g.dtype.name])


def _along(g: Any, input: Any, out: Any, dim: int, keepdim: bool) -> Any:
    input = _in_dtype(input, g)
    if keepdim and input.shape:
        shape = (*g.shape[:dim], *g.shape[dim + 1 :])
        g, out = reshape(g, shape), reshape(out, shape)
    return product_gradient(g, input, out, dim)


def _of_all(g: Any, input: Any, out: Any) -> Any:
    if not input.shape:
        return g
    input = _in_dtype(input, g)
    flat = reshape(input, (-1,))
    return reshape(product_gradient(g, flat, out, 0), input.shape)


@reduction(
    vjp("g times the product of all other elements", input=_of_all),
    compute=int_to_int64,
    batch=in_rows(lambda rows, dtype: prod_along(rows, 1, False, dtype)),
)
def prod(xp: Any, input: Array, *, dtype: DType | None = None) -> Array:
    """Product of all elements."""
    return xp.prod(input)


@reduction(vjp(input=_along), name="prod", compute=int_to_int64, grad_name="ProdBackward1")
def prod_along(
    xp: Any, input: Array, dim: Dim, keepdim: bool = False, *, dtype: DType | None = None
) -> Array:
    """Product of the elements along an axis."""
    return xp.prod(input, axis=dim if input.ndim else None, keepdims=keepdim)
