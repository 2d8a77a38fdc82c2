"""Random tensors: uniform, normal, integers, permutations, Bernoulli, multinomial."""

from __future__ import annotations

from math import sqrt
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error
from gradwire_engine.families import composite, primitive
from gradwire_engine.op import Inferred
from gradwire_engine.ops.creation import default_dtype, sized, zeros_like
from gradwire_engine.promote import broadcast_shapes, result_type
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Device, Ints
from gradwire_engine.spec import BOOL, COMPLEX, FLOAT, INTEGER, DType, Shape, Spec, dtype_of, int64


def _inexact(asked: str, dtype: DType) -> DType:
    if dtype.category < FLOAT:
        raise error(
            "dtype_mismatch",
            f"{asked}: not defined for {dtype.name}",
            "choose a floating or complex dtype",
        )
    return dtype


def _drawn(asked: str, size: Ints, dtype: DType | None) -> Spec:
    return Spec(sized(asked, size), _inexact(asked, dtype or default_dtype()), "")


def uniform(xp: Any, generator: Any, shape: Shape, dtype: DType) -> Array:
    """Numbers equally likely anywhere in [0, 1); complex ones have two such parts."""
    real = xp.float64 if dtype.itemsize // (1 + (dtype.category == COMPLEX)) == 8 else xp.float32
    if dtype.category != COMPLEX:
        return generator.random(shape, dtype=real)
    out = xp.empty(shape, dtype.numpy)
    out.real, out.imag = generator.random(shape, dtype=real), generator.random(shape, dtype=real)
    return out


def standard_normal(xp: Any, generator: Any, shape: Shape, dtype: DType) -> Array:
    """Normal numbers of mean 0 and variance 1, of which a complex number's parts have half each."""
    real = xp.float64 if dtype.itemsize // (1 + (dtype.category == COMPLEX)) == 8 else xp.float32
    if dtype.category != COMPLEX:
        return generator.standard_normal(shape, dtype=real)
    out = xp.empty(shape, dtype.numpy)
    out.real = generator.standard_normal(shape, dtype=real)
    out.imag = generator.standard_normal(shape, dtype=real)
    out *= sqrt(0.5)
    return out


@primitive(spec=lambda size, dtype: _drawn("rand", size, dtype), random=True)
def rand(
    xp: Any,
    generator: Any,
    size: Ints,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """Random numbers, equally likely anywhere in [0, 1)."""
    return uniform(xp, generator, size, dtype or default_dtype())


@primitive(spec=lambda size, dtype: _drawn("randn", size, dtype), random=True)
def randn(
    xp: Any,
    generator: Any,
    size: Ints,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """Random numbers from the standard normal distribution."""
    return standard_normal(xp, generator, size, dtype or default_dtype())


@primitive(
    spec=lambda input, dtype: _drawn("rand_like", input.shape, dtype or input.dtype), random=True
)
def rand_like(
    xp: Any,
    generator: Any,
    input: Array,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """Random numbers in [0, 1), in the shape of another tensor."""
    return uniform(xp, generator, input.shape, dtype or dtype_of(input.dtype))


@primitive(
    spec=lambda input, dtype: _drawn("randn_like", input.shape, dtype or input.dtype), random=True
)
def randn_like(
    xp: Any,
    generator: Any,
    input: Array,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """Standard normal random numbers, in the shape of another tensor."""
    return standard_normal(xp, generator, input.shape, dtype or dtype_of(input.dtype))


def _integers(low: int, high: int, size: Ints, dtype: DType) -> Spec:
    if not -(2**63) <= low < high <= 2**63:
        raise error(
            "invalid_argument",
            f"randint: integers from {low} up to but without {high}",
            "low must be less than high, both within int64",
        )
    return Spec(sized("randint", size), dtype, "")


@composite(name="randint", random=True)
def _randint_below(
    high: int, size: Ints, *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """Random integers from low (0 unless given) up to but without high."""
    return randint(0, high, size, dtype=dtype, device=device)


@primitive(
    spec=lambda low, high, size, dtype: _integers(low, high, size, dtype or int64), random=True
)
def randint(
    xp: Any,
    generator: Any,
    low: int,
    high: int,
    size: Ints,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """Random integers from low up to but without high."""
    return generator.integers(low, high, size, dtype=xp.int64)


@composite(name="randint_like", random=True)
def _randint_like_below(input: Array, high: int, *, dtype: DType | None = None) -> Array:
    """Random integers from low (0 unless given) below high, in the shape of another tensor."""
    return randint_like(input, 0, high, dtype=dtype)


@primitive(
    spec=lambda input, low, high, dtype: _integers(low, high, input.shape, dtype or input.dtype),
    random=True,
)
def randint_like(
    xp: Any, generator: Any, input: Array, low: int, high: int, *, dtype: DType | None = None
) -> Array:
    """Random integers from low below high, in the shape of another tensor."""
    return generator.integers(low, high, input.shape, dtype=xp.int64)


@primitive(spec=lambda n, dtype: Spec(sized("randperm", (n,)), dtype or int64, ""), random=True)
def randperm(
    xp: Any, generator: Any, n: int, *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """The integers from 0 up to but without n in random order."""
    return xp.argsort(generator.random((n,), dtype=xp.float64))


def _normal_spec(mean: Any, std: Any) -> Inferred:
    dtype = result_type([mean, std])
    dtype = dtype if dtype.category >= FLOAT else default_dtype()
    return Inferred(Spec(broadcast_shapes("normal", mean.shape, std.shape), dtype, ""), dtype)


@primitive(
    vjp(mean=lambda g: zeros_like(g), std=lambda g: zeros_like(g)),
    spec=_normal_spec,
    random=True,
    grad_name="NormalBackward0",
    formula="zeros: draws are constants",
)
def normal(xp: Any, generator: Any, mean: Array, std: Array = 1.0) -> Array:
    """Normal random numbers, each of its own mean and standard deviation."""
    shape = broadcast_shapes("normal", getattr(mean, "shape", ()), getattr(std, "shape", ()))
    if bool(xp.any(xp.asarray(std) < 0)):
        raise error("invalid_argument", "normal: a negative standard deviation", "give std >= 0")
    dtype = dtype_of(getattr(mean, "dtype", None) or getattr(std, "dtype", default_dtype().numpy))
    return standard_normal(xp, generator, shape, dtype) * std + mean


@composite(name="normal", random=True)
def _normal_of_size(
    mean: float,
    std: float,
    size: Ints,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """Normal random numbers of one mean and standard deviation."""
    if std < 0:
        raise error("invalid_argument", f"normal: std is {std}", "give std >= 0")
    return randn(size, dtype=dtype, device=device) * std + mean


def _chances(xp: Any, chance: Any) -> None:
    if bool(xp.any(~((chance >= 0) & (chance <= 1)))):
        raise error("invalid_argument", "bernoulli: a probability outside of 0 to 1", "clamp it")


@primitive(
    vjp(input=lambda g: zeros_like(g)),
    spec=lambda input: input.with_(dtype=_inexact("bernoulli", input.dtype)),
    random=True,
    fallible=True,
    formula="zeros: draws are constants",
)
def bernoulli(xp: Any, generator: Any, input: Array) -> Array:
    """1 with the probability that each element gives, else 0."""
    _chances(xp, input)
    return generator.random(input.shape, dtype=xp.float64) < input


@composite(name="bernoulli", random=True)
def _bernoulli_of(input: Array, p: float) -> Array:
    """1 with one probability for all elements, else 0, in the shape of the input."""
    return bernoulli(zeros_like(input) + p)


def _draws(input: Spec, num_samples: int, replacement: bool) -> Spec:
    shape = input.shape
    most = shape[-1] if shape else 0
    _takes("multinomial", input, FLOAT)
    fine = len(shape) in (1, 2) and num_samples > 0 and most
    if not fine or (not replacement and num_samples > most):
        raise error(
            "invalid_argument",
            f"multinomial: {num_samples} samples from {input}, "
            f"{'with' if replacement else 'without'} replacement",
            "give a vector or matrix of float weights; without replacement at most as many "
            "samples as there are categories",
        )
    return Spec((*shape[:-1], num_samples), int64, "")


@primitive(
    spec=lambda input, num_samples, replacement: _draws(input, num_samples, replacement),
    random=True,
    fallible=True,
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
        raise error(
            "invalid_argument",
            f"multinomial: weights that are negative, infinite or NaN, or fewer than {least} > 0",
            "weights must be finite and >= 0",
        )


# in place only: the target's elements don't matter, only its shape, dtype and device


def _takes(asked: str, input: Spec, *categories: int) -> Spec:
    if input.dtype.category not in categories:
        raise error("dtype_mismatch", f"{asked}: not defined for {input.dtype.name}", "convert it")
    return input


@primitive(
    vjp(input=lambda g: zeros_like(g)),
    spec=lambda input: _takes("uniform_", input, FLOAT, COMPLEX),
    name="uniform_",
    random=True,
    inplace=True,
    grad_name="UniformBackward0",
    formula="zeros",
)
def _uniform_(xp: Any, generator: Any, input: Array, from_: float = 0.0, to: float = 1.0) -> Array:
    """Fill with random numbers, equally likely anywhere from one bound up to another."""
    if from_ > to:
        raise error("invalid_argument", f"uniform_: from {from_} to {to}", "from must not be more")
    return uniform(xp, generator, input.shape, dtype_of(input.dtype)) * (to - from_) + from_


@primitive(
    vjp(input=lambda g: zeros_like(g)),
    spec=lambda input: _takes("normal_", input, FLOAT, COMPLEX),
    name="normal_",
    random=True,
    inplace=True,
    grad_name="NormalBackward0",
    formula="zeros",
)
def _normal_(xp: Any, generator: Any, input: Array, mean: float = 0.0, std: float = 1.0) -> Array:
    """Fill with normal random numbers."""
    if std < 0:
        raise error("invalid_argument", f"normal_: std is {std}", "give std >= 0")
    return standard_normal(xp, generator, input.shape, dtype_of(input.dtype)) * std + mean


@primitive(
    vjp(input=lambda g: zeros_like(g)),
    spec=lambda input: _takes("exponential_", input, FLOAT),
    name="exponential_",
    random=True,
    inplace=True,
    grad_name="ExponentialBackward0",
    formula="zeros",
)
def _exponential_(xp: Any, generator: Any, input: Array, lambd: float = 1.0) -> Array:
    """Fill with exponentially distributed random numbers."""
    if lambd <= 0:
        raise error("invalid_argument", f"exponential_: lambd is {lambd}", "give lambd > 0")
    return -xp.log1p(-uniform(xp, generator, input.shape, dtype_of(input.dtype))) / lambd


@primitive(
    vjp(input=lambda g: zeros_like(g)),
    spec=lambda input: _takes("bernoulli_", input, BOOL, INTEGER, FLOAT),
    name="bernoulli_",
    random=True,
    inplace=True,
    grad_name="BernoulliBackward0",
    formula="zeros",
)
def _bernoulli_(xp: Any, generator: Any, input: Array, p: float = 0.5) -> Array:
    """Fill with 1, with a probability, and 0."""
    if not 0 <= p <= 1:
        raise error("invalid_argument", f"bernoulli_: p is {p}", "give 0 <= p <= 1")
    return generator.random(input.shape, dtype=xp.float64) < p
