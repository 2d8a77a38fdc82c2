"""Scatter with a reduction: sum, product, mean, largest, smallest of what meets at a place."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradwire_engine.accepted import BOOLS, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import along
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import composite, internal
from gradwire_engine.ops.accumulate import in_range, summed
from gradwire_engine.ops.arithmetic import conj
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.compare import eq
from gradwire_engine.ops.creation import full_like, ones_like, zeros_like
from gradwire_engine.ops.expand import expand, reshape
from gradwire_engine.ops.gather import corner, gather, raised, spread
from gradwire_engine.ops.logical import logical_and
from gradwire_engine.ops.scatter import padded, scatter_add, scatter_at, scatter_fits
from gradwire_engine.ops.views import slice_
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dim, axis
from gradwire_engine.spec import Number, Shape, Spec

REDUCTIONS = {"prod": "multiply", "amax": "maximum", "amin": "minimum"}
"""From a reduction to the array library's function of two elements; sum and mean add."""


def _reducing(asked: str, reduce: str, known: tuple[str, ...]) -> None:
    if reduce not in known:
        raise invalid_argument(
            f"{asked}: reduce is {reduce!r}", f"it must be one of {', '.join(known)}"
        )


def _segments(xp: Any, places: Array, values: Array, combine: Any) -> tuple[Array, Array]:
    """The distinct places, and what the values at each combine to, in log2(n) passes.

    Sorted by place, each value takes in the one 1, 2, 4, … before it if that belongs to the same
    place (Hillis and Steele, Data parallel algorithms, 1986); the last of each place has all.
    """
    order = xp.argsort(places)
    places, values = places[order], values[order]
    step = 1
    while step < places.size:
        same = places[step:] == places[:-step]
        if not bool(same.any()):
            break
        joined = combine(values[step:], values[:-step])
        values = xp.concatenate([values[:step], xp.where(same, joined, values[step:])])
        step *= 2
    last = xp.concatenate([places[1:] != places[:-1], xp.ones(1, bool)])
    return places[last], values[last]


def _mean(xp: Any, total: Array, count: Array) -> Array:
    if total.dtype.kind in "iu":
        return xp.floor_divide(total, xp.maximum(count, 1).astype(total.dtype))
    return total / xp.maximum(count, 1)


def _added(xp: Any, base: Array, flat: Array, values: Array, reduce: str, include: bool) -> Array:
    size = base.size
    found = summed(xp, flat, values, size)
    count = xp.bincount(flat, minlength=size)
    start = base if include else xp.where(count > 0, xp.zeros_like(base), base)
    if reduce == "sum":
        return start + found
    mean = _mean(xp, start + found, count + int(include))
    return xp.where(count > 0, mean, base)


def _extreme(xp: Any, base: Array, flat: Array, values: Array, reduce: str, include: bool) -> Array:
    combine = getattr(xp, REDUCTIONS[reduce])
    places, found = _segments(xp, flat, values, combine)
    base[places] = combine(base[places], found) if include else found
    return base


def _fits(input: Spec, dim: int, index: Spec, src: Spec, reduce: str) -> Spec:
    if input.dtype.is_complex and reduce in ("amax", "amin") and index.size:
        raise dtype_mismatch(
            f"scatter_reduce: {reduce} of {input.dtype.name}: complex numbers have no order",
            "take abs() or a part",
        )
    return scatter_fits("scatter_reduce", input, dim, index, src)


@internal(
    vjp(
        joint=lambda g, input, index, src, out, dim, reduce, include_self, src_spec: _gradients(
            g, _Use(input, index, _cut(src, index.shape), out, dim, include_self), reduce, src_spec
        )
    ),
    spec=lambda input, dim, index, src, reduce: _fits(input, dim, index, src, reduce),
    fallible=True,
    grad_name="ScatterReduceBackward0",
    formula="g shared by what it was reduced from",
    batch=along("dim"),
)
def scatter_reduce_at(
    xp: Any,
    input: Array,
    dim: Dim,
    index: Array,
    src: Array,
    reduce: str,
    include_self: bool = True,
) -> Array:
    """The input with src reduced into it where an index tensor says."""
    out = xp.array(input, order="C")
    if not index.size:
        return out
    shape, places = raised(out.shape), index.reshape(raised(index.shape))
    in_range("scatter", places, shape[dim], dim=dim, negative=False, raised=RuntimeError)
    values = src.reshape(raised(src.shape))[corner(places.shape)].reshape(-1)
    flat = spread(xp, places, dim, shape).reshape(-1)
    run = _added if reduce in ("sum", "mean") else _extreme
    return run(xp, out.reshape(-1), flat, values, reduce, include_self).reshape(out.shape)


# derivatives: what the input and what src get of g


class _Use(NamedTuple):
    """A reduction that was done, for its derivative; src as large as the index."""

    input: Any
    index: Any
    src: Any
    out: Any
    dim: int
    include: bool

    def take(self, values: Any) -> Any:
        """The values at the places that src was reduced into."""
        return gather(values, self.dim, self.index)

    def add(self, start: Any, values: Any) -> Any:
        """Values like src added up at those places."""
        return scatter_add(start, self.dim, self.index, values)


def _cut(src: Any, shape: Shape) -> Any:
    if len(src.shape) != len(shape):
        return reshape(src, shape)
    for i, n in enumerate(shape):
        if src.shape[i] != n:
            src = slice_(src, i, 0, n, 1)
    return src


def _gradients(g: Any, use: _Use, reduce: str, src: Spec) -> tuple[Any, None, Any]:
    of_input, of_src = _SHARES[reduce](g, use)
    if not use.include:
        of_input = scatter_at(of_input, use.dim, use.index, 0)
    return of_input, None, padded(of_src, src)


def _of_mean(g: Any, use: _Use) -> tuple[Any, Any]:
    start = ones_like(g) if use.include else zeros_like(g)
    count = use.add(start, ones_like(use.src))
    shared = g / where(eq(count, 0), ones_like(g), count)
    return shared, use.take(shared)


def _of_extreme(g: Any, use: _Use) -> tuple[Any, Any]:
    """Those that are equal to the result share evenly."""
    input_is = where(eq(use.input, use.out), ones_like(g), 0)
    src_is = where(eq(use.src, use.take(use.out)), ones_like(use.src), 0)
    shared = g / use.add(input_is, src_is)
    return shared * input_is, use.take(shared) * src_is


def _of_prod(g: Any, use: _Use) -> tuple[Any, Any]:
    """The product of all others: the result divided, except where one zero makes it 0."""
    one = where(eq(use.input, 0), ones_like(g), use.input)
    of_input = g * conj(_reduced(one, use, use.src) / one)
    zero = eq(use.src, 0)
    zeros = use.take(use.add(zeros_like(g), where(zero, ones_like(use.src), 0)))
    alone = logical_and(zero, eq(zeros, 1))
    others = _reduced(use.input, use, where(alone, ones_like(use.src), use.src))
    divided = use.take(g * conj(use.out)) / conj(where(zero, ones_like(use.src), use.src))
    return of_input, where(alone, use.take(g * conj(others)), divided)


def _reduced(input: Any, use: _Use, src: Any) -> Any:
    return scatter_reduce_at(input, use.dim, use.index, src, "prod", use.include)


_SHARES = {
    "sum": lambda g, use: (g, use.take(g)),
    "mean": _of_mean,
    "amax": _of_extreme,
    "amin": _of_extreme,
    "prod": _of_prod,
}


@composite(inplace=True, real_gradients=True)
def scatter_reduce(
    input: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """Reduce src into the input along an axis where an index tensor says."""
    _reducing("scatter_reduce", reduce, tuple(_SHARES))
    if reduce == "mean":
        refuse("scatter_reduce", (BOOLS,), input)
    return scatter_reduce_at(input, dim, index, src, reduce, include_self)


@composite(inplace=True, grad_name="IndexReduceBackward0", real_gradients=True)
def index_reduce(
    input: Array, dim: int, index: Array, source: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """Reduce slices of source into the slices of an axis that a vector of indices names."""
    _reducing("index_reduce", reduce, ("prod", "mean", "amax", "amin"))
    if reduce == "mean":
        refuse("index_reduce", (BOOLS,), input)
    if index.ndim > 1:
        raise shape_mismatch(
            f"index_reduce: the index has shape {list(index.shape)}",
            "give a vector",
            raised=IndexError,
        )
    if not input.ndim or not source.ndim:
        source = reshape(source, tuple(index.shape))
        return scatter_reduce_at(input, dim, index, source, reduce, include_self)
    place = axis("index_reduce", dim, input.ndim)
    along = tuple(-1 if i == place else 1 for i in range(input.ndim))
    full = expand(reshape(index, along), tuple(source.shape))
    return scatter_reduce_at(input, place, full, source, reduce, include_self)


@composite(inplace=True)
def scatter(
    input: Array, dim: int, index: Array, src: Array, *, reduce: str | None = None
) -> Array:
    """Write src, or one number, along an axis where an index tensor says; add or multiply it."""
    if reduce is None:
        return scatter_at(input, dim, index, src)
    _reducing("scatter", reduce, ("add", "multiply"))
    if not hasattr(src, "shape"):
        src = full_like(index, src, dtype=input.dtype)
    if reduce == "add":
        return scatter_add(input, dim, index, src)
    return scatter_reduce_at(input, dim, index, src, "prod", True)


@composite(name="scatter", inplace=True)
def _scatter_value(
    input: Array, dim: int, index: Array, value: Number, *, reduce: str | None = None
) -> Array:
    """Write one number along an axis where an index tensor says."""
    return scatter(input, dim, index, value, reduce=reduce)
