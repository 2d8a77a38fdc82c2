"""Distances, similarities and normalised vectors: what is measured with norms."""

from __future__ import annotations

from typing import Any

from gradwire_engine.accepted import COMPLEX, HALVES, WHOLE, one_dtype, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import F, composite
from gradwire_engine.ops.arithmetic import div, mul, sub
from gradwire_engine.ops.axes import broadcast_to, unsqueeze
from gradwire_engine.ops.beside import beside
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.expand import sum
from gradwire_engine.ops.gather import index_select
from gradwire_engine.ops.limits import clamp_max, clamp_min
from gradwire_engine.ops.norms import vector_norm
from gradwire_engine.ops.rounding import ceil
from gradwire_engine.ops.sequences import triu_indices
from gradwire_engine.ops.sign import abs
from gradwire_engine.ops.views import select
from gradwire_engine.promote import broadcast_shapes, result_type
from gradwire_engine.signature import Dims, axis
from gradwire_engine.spec import FLOAT


@composite(grad_name="DistBackward0", numbers=())
def dist(input: Array, other: Array, p: float = 2) -> Array:
    """The p-norm of the difference of two tensors."""
    return beside(vector_norm(sub(input, other), p), input, other, itself=True)


@composite(space=F, aliases=("pairwise_distance",), grad_name="NormBackward1", numbers=())
def pairwise_distance(
    x1: Array, x2: Array, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Array:
    """The p-norms of the differences (plus eps) of vectors in the last axis."""
    away = sub(x1, x2) + eps
    return vector_norm(away, p, (away.ndim - 1,), keepdim)


@composite(space=F, aliases=("cosine_similarity",))
def cosine_similarity(x1: Array, x2: Array, dim: int = 1, eps: float = 1e-8) -> Array:
    """The cosine of the angle between vectors along an axis."""
    dtype = result_type([x1.spec, x2.spec])
    if dtype.category != FLOAT:
        raise dtype_mismatch(
            f"cosine_similarity: takes floating tensors, these make {dtype.name}",
            "convert them first",
        )
    shape = broadcast_shapes("cosine_similarity", x1.shape, x2.shape)
    found = [x if x.shape == shape else broadcast_to(x, shape) for x in (x1, x2)]
    found = [x if x.dtype.category == FLOAT else to_dtype(x, dtype) for x in found]  # else its own
    one, two = (div(x, clamp_min(vector_norm(x, 2, (dim,), True), eps)) for x in found)
    return sum(mul(one, two), (dim,))


@composite(space=F)
def normalize(input: Array, p: float = 2.0, dim: Dims | None = (1,), eps: float = 1e-12) -> Array:
    """Divide vectors along an axis, or several, by their p-norm, or by eps where it is smaller."""
    return div(input, clamp_min(vector_norm(input, p, dim, True), eps))


@composite(grad_name="RenormBackward0", inplace=True)
def renorm(input: Array, p: float, dim: int, maxnorm: float) -> Array:
    """Shrink the slices along an axis whose p-norm is larger than maxnorm to that norm."""
    place = axis("renorm", dim, input.ndim)
    if input.ndim < 2 or p <= 0 or maxnorm < 0:
        raise invalid_argument(
            f"renorm: the tensor has {input.ndim} axes, p is {p}, maxnorm is {maxnorm}",
            "it takes at least 2 axes, p > 0 and maxnorm >= 0",
        )
    others = tuple(i for i in range(input.ndim) if i != place)
    larger = vector_norm(input, p, others, True) > maxnorm
    norm = vector_norm(where(larger, input, 1), p, others, True)  # which has a slope elsewhere too
    return mul(input, where(larger, maxnorm / (norm + 1e-7), 1))


def _lengths(away: Any, p: float) -> Any:
    """The p-norm of each row; of order 0 it has zeros for a gradient, which a norm has not."""
    if p:
        return vector_norm(away, p, (away.ndim - 1,))
    return sum(clamp_max(ceil(abs(away)), 1), (away.ndim - 1,))


@composite(grad_name="CdistBackward0")
def cdist(
    x1: Array, x2: Array, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Array:
    """The p-norm distances of each row of x1 to each row of x2."""
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise shape_mismatch(
            f"cdist: x1 is {list(x1.shape)}, x2 is {list(x2.shape)}",
            "both are (..., points, coordinates) with equally many coordinates",
        )
    refuse("cdist", (*WHOLE, COMPLEX), x1, x2, raised=RuntimeError)
    if 0 not in (*x1.shape, *x2.shape):
        one_dtype("cdist", x1=x1, x2=x2)
        refuse("cdist", (HALVES,), x1)
    if p < 0:
        raise invalid_argument(
            f"cdist: p must not be negative, got {p}", "p is 0 or more, inf included"
        )
    away = sub(unsqueeze(x1, -2), unsqueeze(x2, -3))
    return beside(_lengths(away, p), x1, x2, itself=True)


@composite(space=F, aliases=("pdist",), grad_name="PdistBackward0")
def pdist(input: Array, p: float = 2.0) -> Array:
    """The p-norm distances of each row to each later row, in one vector."""
    if input.ndim != 2 or p < 0:
        raise shape_mismatch(
            f"pdist: the tensor is {list(input.shape)}, p is {p}",
            "it takes a matrix of points and p >= 0",
        )
    refuse("pdist", (*WHOLE, COMPLEX), input, raised=RuntimeError)
    refuse("pdist", (HALVES,), input)
    pairs = triu_indices(input.shape[0], input.shape[0], 1, device=input.device)
    one, two = (index_select(input, 0, select(pairs, 0, i)) for i in (0, 1))
    return _lengths(sub(one, two), p)
