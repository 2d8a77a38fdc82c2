"""Random tensors with parameters of their own at each element: normal, Bernoulli, multinomial."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import elementwise as by_element
from gradwire_engine.batch.rules import leading
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import composite, primitive
from gradwire_engine.op import Inferred
from gradwire_engine.ops.creation import default_dtype, zeros_like
from gradwire_engine.ops.draw import inexact, of_category, randn, standard_normal
from gradwire_engine.ops.expand import reshape
from gradwire_engine.promote import broadcast_shapes, result_type
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Device, Ints
from gradwire_engine.spec import FLOAT, DType, Spec, dtype_of, int64


def _normal_spec(mean: Any, std: Any) -> Inferred:
    dtype = result_type([mean, std])
    dtype = dtype if dtype.category >= FLOAT else default_dtype()
    return Inferred(Spec(broadcast_shapes("normal", mean.shape, std.shape), dtype, ""), dtype)


@primitive(
    vjp("zeros: draws are constants", mean=lambda g: zeros_like(g), std=lambda g: zeros_like(g)),
    spec=_normal_spec,
    random=True,
    batch=by_element,
    real_gradients=True,
)
def normal(xp: Any, generator: Any, mean: Array, std: Array = 1.0) -> Array:
    """Normal random numbers, each of its own mean and standard deviation."""
    shape = broadcast_shapes("normal", getattr(mean, "shape", ()), getattr(std, "shape", ()))
    if bool(xp.any(xp.asarray(std) < 0)):
        raise invalid_argument("normal: a negative standard deviation", "give std >= 0")
    dtype = dtype_of(getattr(mean, "dtype", None) or getattr(std, "dtype", default_dtype().numpy))
    return standard_normal(xp, generator, shape, dtype) * std + mean


@composite(name="normal", random=True)
def _normal_of_size(
    mean: float, std: float, size: Ints, *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """Normal random numbers of one mean and standard deviation."""
    if std < 0:
        raise invalid_argument(f"normal: std is {std}", "give std >= 0")
    return randn(size, dtype=dtype, device=device) * std + mean


@primitive(
    vjp("zeros: draws are constants", input=lambda g: zeros_like(g)),
    spec=lambda input: input.with_(dtype=inexact("bernoulli", input.dtype)),
    random=True,
    fallible=True,
    batch=leading,
    real_gradients=True,
)
def bernoulli(xp: Any, generator: Any, input: Array) -> Array:
    """1 with the probability that each element gives, else 0."""
    if bool(xp.any(~((input >= 0) & (input <= 1)))):
        raise invalid_argument("bernoulli: a probability outside of 0 to 1", "clamp it")
    return generator.random(input.shape, dtype=xp.float64) < input


@composite(name="bernoulli", random=True)
def _bernoulli_of(input: Array, p: float) -> Array:
    """1 with one probability for all elements, else 0, in the shape of the input."""
    return bernoulli(zeros_like(input) + p)


def _draws(input: Spec, num_samples: int, replacement: bool) -> Spec:
    shape = input.shape
    most = shape[-1] if shape else 0
    of_category("multinomial", input, FLOAT)
    fine = len(shape) in (1, 2) and num_samples > 0 and most
    if not fine or (not replacement and num_samples > most):
        raise invalid_argument(
            f"multinomial: {num_samples} samples from {input}, "
            f"{'with' if replacement else 'without'} replacement",
            "give a vector or matrix of float weights; without replacement at most as many "
            "samples as there are categories",
        )
    return Spec((*shape[:-1], num_samples), int64, "")


def _drawn_for_each(b: Any) -> Any:
    rows = b.front("input")
    return b.again(input=reshape(rows, (-1, rows.shape[-1])))


@primitive(
    spec=lambda input, num_samples, replacement: _draws(input, num_samples, replacement),
    random=True,
    fallible=True,
    batch=_drawn_for_each,
)
def multinomial(
    xp: Any, generator: Any, input: Array, num_samples: int, replacement: bool = False
) -> Array:
    """Indices of categories drawn in proportion to the weights in the last axis."""
    weights = input.astype(xp.float64).reshape(-1, input.shape[-1])
    _check_weights(xp, weights, 1 if replacement else num_samples)
    if replacement:
        found = _with_replacement(xp, generator, weights, num_samples)
    else:  # the first of exponential clocks that run at the weights' rates
        waits = -xp.log1p(-generator.random(weights.shape, dtype=xp.float64))
        clocks = xp.where(weights > 0, waits / xp.where(weights > 0, weights, 1), xp.inf)
        found = xp.argsort(clocks, axis=-1)[:, :num_samples]
    return found.reshape(*input.shape[:-1], num_samples)


def _with_replacement(xp: Any, generator: Any, weights: Array, count: int) -> Array:
    rows, categories = weights.shape
    shares = xp.cumsum(weights, axis=-1) / weights.sum(axis=-1, keepdims=True)
    offset = xp.arange(rows).reshape(-1, 1)
    drawn = generator.random((rows, count), dtype=xp.float64) + offset
    places = xp.searchsorted((shares + offset).reshape(-1), drawn.reshape(-1), side="right")
    return xp.clip(places.reshape(rows, count) - offset * categories, 0, categories - 1)


def _check_weights(xp: Any, weights: Array, least: int) -> None:
    sound = xp.isfinite(weights) & (weights >= 0)
    if not bool(sound.all()) or int((weights > 0).sum(axis=-1).min()) < least:
        raise invalid_argument(
            f"multinomial: weights that are negative, infinite or NaN, or fewer than {least} > 0",
            "weights must be finite and >= 0",
        )
