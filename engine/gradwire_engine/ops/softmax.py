"""The softmax family: along one axis, safe from overflow, gradients in one pass over memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch
from gradwire_engine.families import composite, floating, primitive, reduction
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.kernels.ones import ones_of
from gradwire_engine.kernels.row_blocks import BLOCK, SMALL, as_rows, each_block
from gradwire_engine.kernels.sums import summed
from gradwire_engine.op import Inferred
from gradwire_engine.ops.arithmetic import conj, mul, neg, sub
from gradwire_engine.ops.expand import spread_out, sum
from gradwire_engine.ops.exponential import exp
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dim, Dims
from gradwire_engine.spec import FLOAT, DType, Spec

NARROW = 32
"""Elements of a row below which many rows are worked on column by column: NumPy folds a row in a
call of its own, but columns all at once."""


def _narrow(input: Array, dim: int) -> bool:
    """Whether there are many short rows along an axis, and not too many for the cache."""
    return (
        dim == input.ndim - 1
        and input.shape[-1] < min(NARROW, input.size)
        and input.size <= BLOCK
        and type(input) is np.ndarray
        and input.flags.c_contiguous
    )


def _columns(xp: Any, input: Array) -> Array:
    """A copy with the last axis first, in which the largest of each column is 0."""
    out = as_rows(input, input.shape[-1]).T.copy()
    out -= xp.maximum.reduce(out, axis=0)
    return out


def _along(work: Any, xp: Any, dim: int, *arrays: Array) -> Array:
    """Run a block kernel over arrays with the axis last; the result, a new array in their shape."""
    first = arrays[0]
    out = xp.empty(first.shape, first.dtype)
    if not out.size:
        return out
    if out.size < SMALL and first.ndim and dim == first.ndim - 1:
        work(xp, *arrays, out)
    elif first.ndim == 0:
        work(xp, *(a.reshape(1, 1) for a in (*arrays, out)))
    elif dim == first.ndim - 1:
        width = first.shape[-1]
        each_block(lambda *rows: work(xp, *rows), *(as_rows(a, width) for a in (*arrays, out)))
    else:
        work(xp, *(a.swapaxes(dim, -1) for a in (*arrays, out)))
    return out


FEW = 1 << 12
"""Elements below which a plain sum has the lower cost."""


_maximum: Any = np.maximum.reduce


def _largest(x: Array) -> Array:
    """The largest of each row, kept as an axis."""
    if type(x) is np.ndarray:  # its method does the same by a function of Python
        return _maximum(x, axis=-1, keepdims=True)
    return x.max(axis=-1, keepdims=True)


def _total(xp: Any, x: Array) -> Array:
    """The sum along the last axis, kept as an axis."""
    if type(x) is np.ndarray and x.size <= BLOCK:
        return summed(x, (x.ndim - 1,), True)
    if x.size < FEW:
        return x.sum(axis=-1, keepdims=True)
    return xp.einsum("...j->...", x)[..., None]


def _shared_total(xp: Any, a: Array, b: Array) -> Array:
    """The sum along the last axis of a product, kept as an axis."""
    if type(a) is np.ndarray and a.flags.c_contiguous and b.flags.c_contiguous:
        return np.vecdot(a, b)[..., None]
    return xp.einsum("...j,...j->...", a, b)[..., None]


def _moderate(x: Array) -> bool:
    """Whether sums of exponentials of all elements can neither overflow nor vanish.

    log_softmax does need it: its logarithm is taken off again, and what is left may be near to 0.
    """
    return type(x) is np.ndarray and bool(x.min() > -FAR and x.max() < FAR)


FAR = 40.0


def _softmax_rows(xp: Any, x: Array, out: Array) -> None:
    if not _moderate(x):
        x = xp.subtract(x, _largest(x), out=out)
    xp.exp(x, out=out)
    out /= _total(xp, out)


def _log_softmax_rows(xp: Any, x: Array, out: Array) -> None:
    xp.subtract(x, _largest(x), out=out)
    out -= xp.log(_total(xp, xp.exp(out)))


def _softmax_gradient_rows(xp: Any, g: Array, probability: Array, out: Array) -> None:
    xp.subtract(g, _shared_total(xp, g, probability), out=out)
    out *= probability


def _log_softmax_gradient_rows(xp: Any, g: Array, logarithm: Array, out: Array) -> None:
    xp.exp(logarithm, out=out)
    out *= _total(xp, g)
    xp.subtract(g, out, out=out)


@one_pass(lambda g, out, dim: mul(out, sub(g, sum(mul(g, out), (dim,), True))))
def softmax_gradient(xp: Any, g: Array, out: Array, dim: int) -> Array:
    """The gradient of softmax's input."""
    return _along(_softmax_gradient_rows, xp, dim, g, out)


@one_pass(lambda g, out, dim: sub(g, mul(exp(out), sum(g, (dim,), True))))
def log_softmax_gradient(xp: Any, g: Array, out: Array, dim: int) -> Array:
    """The gradient of log_softmax's input."""
    if _narrow(out, dim):
        found = xp.exp(out)
        found *= xp.matmul(g, ones_of(out.shape[-1], out.dtype))[..., None]  # sums of rows by BLAS
        return xp.subtract(g, found, out=found)
    return _along(_log_softmax_gradient_rows, xp, dim, g, out)


def softmax_spec(input: Spec, dtype: DType | None) -> Inferred:
    wanted = dtype or input.dtype
    if wanted.category != FLOAT and 0 not in input.shape:  # of nothing any dtype will do
        raise dtype_mismatch(
            f"softmax: takes floating tensors, this one would be {wanted.name}",
            "convert it, or give dtype",
            raised=NotImplementedError,
        )
    return Inferred(Spec(input.shape, wanted, ""), wanted)


@primitive(
    vjp("out (g - Σ g out)", input=lambda g, out, dim: softmax_gradient(g, out, dim)),
    spec=softmax_spec,
    family="along",
    aliases=("special.softmax",),
    symmetric=True,
    real_gradients=True,
)
def softmax(xp: Any, input: Array, dim: Dim, dtype: DType | None = None) -> Array:
    """Exponentials along an axis, divided by their sum."""
    if _narrow(input, dim):
        out = _columns(xp, input)
        xp.exp(out, out=out)
        out /= xp.add.reduce(out, axis=0)
        return out.T.copy().reshape(input.shape)
    return _along(_softmax_rows, xp, dim, input)


@primitive(
    vjp("g - exp(out) Σ g", input=lambda g, out, dim: log_softmax_gradient(g, out, dim)),
    spec=softmax_spec,
    family="along",
    aliases=("special.log_softmax",),
    real_gradients=True,
)
def log_softmax(xp: Any, input: Array, dim: Dim, dtype: DType | None = None) -> Array:
    """The logarithm of softmax, exact where the probabilities are tiny."""
    if _narrow(input, dim):
        out = _columns(xp, input)
        out -= xp.log(xp.add.reduce(xp.exp(out), axis=0))
        return out.T.copy().reshape(input.shape)
    return _along(_log_softmax_rows, xp, dim, input)


def _guessed(input: Array, dim: int | None) -> int:
    """The axis that is meant where none is named: the second of 2 axes and of 4 or more."""
    if dim is not None:
        return dim
    return 0 if input.ndim in (0, 1, 3) else 1


@composite(name="nn.functional.softmax")
def functional_softmax(
    input: Array, dim: Dim | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Array:
    """softmax along an axis; along the first without one, of 2 and of 4 or more the second."""
    return softmax(input, _guessed(input, dim), dtype)


@composite(name="nn.functional.log_softmax")
def functional_log_softmax(
    input: Array, dim: Dim | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Array:
    """log_softmax along an axis; along the first without one, of 2 and of 4 or more the second."""
    return log_softmax(input, _guessed(input, dim), dtype)


@composite(name="nn.functional.softmin")
def softmin(
    input: Array, dim: Dim | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Array:
    """softmax of the negated tensor; along the first axis, of 2 and of 4 or more the second."""
    return softmax(neg(input), _guessed(input, dim), dtype)


def _logsumexp_formula(g: Any, input: Any, out: Any, dim: Dims) -> Any:
    weights = conj(exp(sub(input, spread_out(out, dim, input.shape))))
    return mul(spread_out(g, dim, input.shape), weights)


@one_pass(_logsumexp_formula)
def logsumexp_gradient(xp: Any, g: Array, input: Array, out: Array, dim: Dims) -> Array:
    """The gradient of logsumexp's input."""
    shape = [1 if not dim or i in dim else size for i, size in enumerate(input.shape)]
    weights: Array = conj(xp.exp(xp.subtract(input, out.reshape(shape))))
    return weights * g.reshape(shape)


@reduction(
    vjp(
        "g conj(exp(input - out))",
        input=lambda g, input, out, dim: logsumexp_gradient(g, input, out, dim),
    ),
    compute=floating,
    aliases=("special.logsumexp",),
    named_axes=True,
)
def logsumexp(xp: Any, input: Array, dim: Dims, keepdim: bool = False) -> Array:
    """The logarithm of the sum of exponentials over some axes, without overflow."""
    if not input.size:
        return xp.log(xp.exp(input).sum(axis=dim or None, keepdims=keepdim))
    if len(dim) == 1 and _narrow(input, *dim):
        found: Array = logsumexp.kernel(xp, as_rows(input, input.shape[-1]).T.copy(), (0,))
        return found.reshape(input.shape[:-1] + (1,) * keepdim)
    top = input.real.max(axis=dim or None, keepdims=True)
    top = xp.where(xp.isfinite(top), top, 0).astype(top.dtype)
    total = xp.exp(input - top).sum(axis=dim or None, keepdims=keepdim)
    return xp.log(total) + top.reshape(total.shape)
