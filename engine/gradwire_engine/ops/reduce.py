"""Reductions that add up: means, variances, counts, logical sums."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch
from gradwire_engine.families import (
    INEXACT,
    composite,
    elementwise,
    reduced_shape,
    reduction,
)
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.kernels.select import chosen
from gradwire_engine.kernels.sums import summed
from gradwire_engine.ops.arithmetic import div, mul, shared_out
from gradwire_engine.ops.compare import isnan
from gradwire_engine.ops.expand import spread, spread_out, sum
from gradwire_engine.ops.logical import logical_not
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dims, Ints
from gradwire_engine.spec import DType, Spec, bool_, int64, uint8


def folded_count(spec: Spec, out_spec: Spec) -> int:
    """How many elements went into each one of a reduction's result; at least 1."""
    return max(1, spec.size // max(1, out_spec.size))


def mean_over(xp: Any, input: Array, dim: Dims | None, keepdim: bool) -> Array:
    """The kernel of means: NaN where there are no elements."""
    total = summed(input, dim, keepdim)
    count = input.size // max(1, total.size)
    return total / count if count else total * float("nan")


def _mean_formula(g: Any, dim: Dims | None, input_spec: Spec, out_spec: Spec) -> Any:
    return spread_out(shared_out(g, folded_count(input_spec, out_spec)), dim, input_spec.shape)


@one_pass(_mean_formula)
def mean_gradient(xp: Any, g: Array, dim: Dims | None, input_spec: Spec, out_spec: Spec) -> Array:
    """The gradient of what a mean is taken of."""
    found: Array = spread(g / folded_count(input_spec, out_spec), dim, input_spec.shape)
    return found


@reduction(
    vjp(input=lambda g, dim, input_spec, out_spec: mean_gradient(g, dim, input_spec, out_spec)),
    takes=INEXACT,
    grad_name=lambda named: f"MeanBackward{int(named['dim'] is not None)}",
    formula="g / n, expanded over the folded axes",
    linear=True,
)
def mean(
    xp: Any,
    input: Array,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Array:
    """Mean over some axes, or over all."""
    return mean_over(xp, input, dim, keepdim)


@elementwise(
    vjp("g where input is not NaN", input=lambda g, input: mul(g, input == input)),
    exact=True,
    public=False,
)
def nan_to_zero(xp: Any, input: Array) -> Array:
    """Each element, 0 for those that are NaN."""
    return chosen(xp, xp.isnan(input), 0, input)


@composite(grad_name="NansumBackward0")
def nansum(
    input: Array, dim: Dims | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Array:
    """Sum over some axes, or over all, with NaN counted as 0."""
    whole = input.dtype.kind in "biu"  # a sum like any other
    if input.dtype.kind == "c" or (dtype is not None and dtype.is_complex and not whole):
        reduced_shape("nansum", input.shape, dim, keepdim)  # what is wrong with axes is said first
        if input.dtype.kind == "c" or 0 not in input.shape:
            raise dtype_mismatch(
                "nansum: not defined for complex numbers", "sum the real and the imaginary part"
            )
    return sum(nan_to_zero(input), dim, keepdim, dtype=dtype)


@composite()
def nanmean(
    input: Array, dim: Dims | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Array:
    """Mean over some axes, or over all, of what is not NaN."""
    if input.dtype.kind in "biu" or (dtype is not None and not dtype.differentiable):
        raise dtype_mismatch(
            f"nanmean: of {input.dtype.name} in {(dtype or input.dtype).name}; both are to be "
            "floating",
            "convert it first",
        )
    count = sum(logical_not(isnan(input)), dim, keepdim)
    return div(nansum(input, dim, keepdim, dtype=dtype), count)


def _of_all(dtype: DType) -> DType:
    """any and all of bytes are bytes, of everything else bools."""
    return uint8 if dtype is uint8 else bool_


@reduction(result=_of_all)
def any(xp: Any, input: Array, dim: Ints | None = None, keepdim: bool = False) -> Array:
    """Whether any element is true (not 0)."""
    return xp.any(input, axis=dim if input.ndim else None, keepdims=keepdim)


@reduction(result=_of_all)
def all(xp: Any, input: Array, dim: Ints | None = None, keepdim: bool = False) -> Array:
    """Whether all elements are true (not 0)."""
    return xp.all(input, axis=dim if input.ndim else None, keepdims=keepdim)


@reduction(result=lambda dtype: int64)
def count_nonzero(xp: Any, input: Array, dim: Dims | None = None) -> Array:
    """How many elements are not 0."""
    return xp.count_nonzero(input, axis=dim or None)
