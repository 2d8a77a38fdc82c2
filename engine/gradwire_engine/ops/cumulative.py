"""Running sums, products and extremes along an axis, and the recurrence behind their gradients."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import along
from gradwire_engine.errors import dtype_mismatch
from gradwire_engine.families import internal, primitive
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.kernels.running_sums import running_sums
from gradwire_engine.op import Inferred
from gradwire_engine.ops.arithmetic import add, conj, div, is_complex, mul
from gradwire_engine.ops.arrange import flip
from gradwire_engine.ops.beside import beside
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.expand import int_to_int64
from gradwire_engine.ops.exponential import exp, log
from gradwire_engine.ops.extremes import Found
from gradwire_engine.ops.gather import gather_sum
from gradwire_engine.ops.known import without_zeros
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dim
from gradwire_engine.spec import COMPLEX, FLOAT, DType, Spec, bool_, int64

Slices = tuple[slice, ...]


def _from(dim: int, start: int | None, stop: int | None) -> Slices:
    return (*[slice(None)] * dim, slice(start, stop))


def _cumulative_spec(input: Spec, dtype: DType | None) -> Inferred:
    wanted = dtype or int_to_int64(input.dtype)
    if wanted is bool_ and input.shape and input.size:
        raise dtype_mismatch(
            "cumsum and cumprod: there are none in bool",
            "leave dtype out: bools are counted in int64",
            raised=NotImplementedError,
        )
    return Inferred(Spec(input.shape, wanted, ""), wanted)


running = partial(primitive, spec=_cumulative_spec, family="along", inplace=True)
"""What runs along an axis: as many results as elements."""


@one_pass(lambda g, dim: flip(cumsum(flip(g, (dim,)), dim), (dim,)) if g.shape else g, lambda g: g)
def reverse_cumsum(xp: Any, g: Array, dim: int) -> Array:
    """At each place the sum of what stands there and behind."""
    return running_sums(xp, g, dim, True) if g.ndim else g


@running(
    vjp("at each place the sum of g from there on", input=lambda g, dim: reverse_cumsum(g, dim)),
    linear=True,
)
def cumsum(xp: Any, input: Array, dim: Dim, *, dtype: DType | None = None) -> Array:
    """Running sums along an axis."""
    return running_sums(xp, input, dim) if input.ndim else xp.array(input)


@internal(
    vjp("g shifted back", input=lambda g, dim, by: shifted(g, dim, -by, 0)),
    exact=True,
    batch=along("dim"),
)
def shifted(xp: Any, input: Array, dim: int, by: int, fill: int) -> Array:
    """The elements moved along an axis by 1 or -1; `fill` where none comes."""
    out = xp.full_like(input, fill)
    if not input.ndim:
        return out
    later, earlier = _from(dim, 1, None), _from(dim, None, -1)
    if by > 0:
        out[later] = input[earlier]
    else:
        out[earlier] = input[later]
    return out


def _recurrence_gradients(
    g: Any, factor: Any, out: Any, dim: int, reverse: bool, needs: tuple[bool, ...]
) -> tuple[Any, Any]:
    step = -1 if reverse else 1
    to_term = recurrence(g, shifted(conj(factor), dim, -step, 0), dim, not reverse)
    return to_term, mul(to_term, conj(shifted(out, dim, step, 0))) if needs[1] else None


@internal(
    vjp("the recurrence in the other direction", joint=_recurrence_gradients),
    batch=along("dim"),
)
def recurrence(xp: Any, input: Array, factor: Array, dim: int, reverse: bool) -> Array:
    """s[k] = input[k] + factor[k] s[k-1] along an axis (k+1 in reverse), by doubling steps."""
    total, weight = xp.array(input), xp.array(factor)
    if not input.ndim:
        return total
    reach, size = 1, input.shape[dim]
    while reach < size:
        ahead, behind = _from(dim, reach, None), _from(dim, None, -reach)
        if reverse:
            ahead, behind = behind, ahead
        total[ahead] = total[ahead] + weight[ahead] * total[behind]
        weight[ahead] = weight[ahead] * weight[behind]
        reach *= 2
    return total


def _cumprod_gradient(g: Any, input: Any, out: Any, dim: int) -> Any:
    """Sums over products without one factor, which need no division: zeros may be among them.

    Where none are it is recorded as torch's quotient.
    """
    if prod(g.shape) <= 1 or g.shape[dim] == 1:
        return g
    found = without_zeros(input)
    if found:
        return div(reverse_cumsum(mul(conj(out), g), dim), conj(input))
    if found is False:  # nothing comes of the result, as in product.py
        out = add(cumprod(input, dim), mul(out, 0))
    behind = recurrence(g, shifted(conj(input), dim, -1, 0), dim, True)
    return mul(behind, conj(shifted(out, dim, 1, 1)))


@running(
    vjp(input=_cumprod_gradient),
    formula="at each place the sum from there on of g times out without that factor",
)
def cumprod(xp: Any, input: Array, dim: Dim, *, dtype: DType | None = None) -> Array:
    """Running products along an axis."""
    return xp.cumprod(input, axis=dim) if input.ndim else xp.array(input)


def _ordered(input: Spec) -> tuple[Spec, Spec]:
    if input.dtype.category == COMPLEX:
        raise dtype_mismatch("cummax: complex numbers have no order", "take abs(x) or a part of it")
    return input, input.with_(dtype=int64)


def running_places(xp: Any, input: Array, dim: int, wins: Any) -> Array:
    """The latest place so far of the extreme; NaN, once there, stays until a later NaN."""
    along = [1] * input.ndim
    along[dim] = -1
    best = xp.broadcast_to(xp.arange(input.shape[dim]).reshape(along), input.shape).copy()
    value, reach = xp.array(input), 1
    while reach < input.shape[dim]:
        ahead, behind = _from(dim, reach, None), _from(dim, None, -reach)
        own, other = value[ahead], value[behind]
        keep = wins(own, other) | (own != own)
        best[ahead] = xp.where(keep, best[ahead], best[behind])
        value[ahead] = xp.where(keep, own, other)
        reach *= 2
    return best


def _taken_back(g_values: Any, input: Any, indices: Any, dim: int) -> Any:
    """The gradient; of nothing torch gives the input itself, which may require grad."""
    found = gather_sum(g_values, indices, dim, input.shape)
    return found if 0 not in input.shape else beside(found, input)


def _running(xp: Any, input: Array, dim: int, wins: Any) -> Found:
    if not input.ndim:
        return xp.array(input), xp.zeros((), xp.int64)
    places = running_places(xp, input, dim, wins)
    return xp.take_along_axis(input, places, dim), places


extreme_so_far = partial(
    primitive,
    vjp("g added where each value was taken from", input=_taken_back),
    spec=_ordered,
    outputs=("values", "indices"),
    family="along",
    exact=True,
    any_axis_of_none=True,
)


@extreme_so_far()
def cummax(xp: Any, input: Array, dim: Dim) -> Found:
    """The largest element so far along an axis, and its index."""
    return _running(xp, input, dim, xp.greater_equal)


@extreme_so_far()
def cummin(xp: Any, input: Array, dim: Dim) -> Found:
    """The smallest element so far along an axis, and its index."""
    return _running(xp, input, dim, xp.less_equal)


LOWEST = -1e30
"""Stands for the logarithm of 0 where minus infinity would make NaN."""


def _reverse_logcumsumexp(x: Any, dim: int) -> Any:
    return flip(logcumsumexp(flip(x, (dim,)), dim), (dim,)) if x.shape else x


def _logcumsumexp_gradient(g: Any, input: Any, out: Any, dim: int) -> Any:
    """Σ g exp(input - out) from each place on, in logarithms, for either sign of g."""
    if not input.ndim or 0 in input.shape:
        return g
    if is_complex(input):
        logarithm = where(g == 0, LOWEST, log(where(g == 0, 1, g)))
        return exp(_reverse_logcumsumexp(logarithm - conj(out), dim) + conj(input))
    rise = where(g > 0, log(where(g > 0, g, 1)), LOWEST)
    fall = where(g < 0, log(where(g < 0, -g, 1)), LOWEST)
    up = exp(_reverse_logcumsumexp(rise - out, dim) + input)
    return up - exp(_reverse_logcumsumexp(fall - out, dim) + input)


def _log_spec(input: Spec) -> Spec:
    if input.dtype.category < FLOAT:
        raise dtype_mismatch(
            f"logcumsumexp: not defined for {input.dtype.name}",
            "convert it to a floating dtype",
            raised=NotImplementedError,
        )
    return input


def _complex_logcumsumexp(xp: Any, input: Array, dim: int) -> Array:
    """One place after the other: which branch of the logarithm it is depends on the order."""
    out = xp.moveaxis(xp.array(input), dim, 0)
    for k in range(1, out.shape[0]):
        a, b = out[k], out[k - 1]
        swap = xp.less(a.real, b.real)
        top, low = xp.where(swap, b, a), xp.where(swap, a, b)
        found = top + xp.log1p(xp.exp(low - top))
        out[k] = xp.where(xp.equal(top.real, -xp.inf), top, found)
    return xp.moveaxis(out, 0, dim)


@primitive(
    vjp("at each place exp(input) Σ g exp(-out) from there on", input=_logcumsumexp_gradient),
    spec=_log_spec,
    family="along",
)
def logcumsumexp(xp: Any, input: Array, dim: Dim) -> Array:
    """Logarithms of running sums of exponentials along an axis, without overflow."""
    out = xp.array(input)
    if not input.ndim:
        return out
    if input.dtype.kind == "c":
        return _complex_logcumsumexp(xp, input, dim)
    reach = 1
    while reach < input.shape[dim]:
        ahead, behind = _from(dim, reach, None), _from(dim, None, -reach)
        out[ahead] = xp.logaddexp(out[ahead], out[behind])
        reach *= 2
    return out
