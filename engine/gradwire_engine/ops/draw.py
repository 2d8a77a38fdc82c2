"""Random tensors: uniform, normal, integers, permutations, Bernoulli, multinomial."""

from __future__ import annotations

from functools import partial
from math import sqrt
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, invalid_argument
from gradwire_engine.families import composite, primitive
from gradwire_engine.laid import LIKE_FIRST
from gradwire_engine.ops.creation import default_dtype, sized, zeros_like
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Device, Ints
from gradwire_engine.spec import BOOL, COMPLEX, FLOAT, INTEGER, DType, Shape, Spec, dtype_of, int64


def inexact(asked: str, dtype: DType) -> DType:
    """The dtype itself, which must be floating or complex."""
    if dtype.category < FLOAT:
        raise dtype_mismatch(
            f"{asked}: not defined for {dtype.name}", "choose a floating or complex dtype"
        )
    return dtype


def of_category(asked: str, input: Spec, *categories: int) -> Spec:
    """The spec itself, if its dtype is of one of these categories."""
    if input.dtype.category not in categories:
        raise dtype_mismatch(f"{asked}: not defined for {input.dtype.name}", "convert it")
    return input


def _drawn(asked: str, size: Ints, dtype: DType | None) -> Spec:
    return Spec(sized(asked, size), inexact(asked, dtype or default_dtype()), "")


def _in_dtype(xp: Any, draw: Any, shape: Shape, dtype: DType) -> Array:
    """Numbers drawn one by one; a complex one of two parts."""
    is_complex = dtype.category == COMPLEX
    wide = dtype.itemsize // (1 + is_complex) == 8
    some = partial(draw, shape, dtype=xp.float64 if wide else xp.float32)
    if not is_complex:
        return some()
    out = xp.empty(shape, dtype.numpy)
    out.real, out.imag = some(), some()
    return out


def uniform(xp: Any, generator: Any, shape: Shape, dtype: DType) -> Array:
    """Numbers equally likely anywhere in [0, 1); complex ones have two such parts."""
    return _in_dtype(xp, generator.random, shape, dtype)


def standard_normal(xp: Any, generator: Any, shape: Shape, dtype: DType) -> Array:
    """Normal numbers of mean 0 and variance 1, of which a complex number's parts have half each."""
    out = _in_dtype(xp, generator.standard_normal, shape, dtype)
    if dtype.category == COMPLEX:
        out *= sqrt(0.5)
    return out


@primitive(spec=lambda size, dtype: _drawn("rand", size, dtype), random=True)
def rand(
    xp: Any, generator: Any, size: Ints, *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """Random numbers, equally likely anywhere in [0, 1)."""
    return uniform(xp, generator, size, dtype or default_dtype())


@primitive(spec=lambda size, dtype: _drawn("randn", size, dtype), random=True)
def randn(
    xp: Any, generator: Any, size: Ints, *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """Random numbers from the standard normal distribution."""
    return standard_normal(xp, generator, size, dtype or default_dtype())


@primitive(
    spec=lambda input, dtype: _drawn("rand_like", input.shape, dtype or input.dtype),
    random=True,
    lies=LIKE_FIRST,
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
    spec=lambda input, dtype: _drawn("randn_like", input.shape, dtype or input.dtype),
    random=True,
    lies=LIKE_FIRST,
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
        raise invalid_argument(
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
    lies=LIKE_FIRST,
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


# in place only: the target's elements don't matter, only its shape, dtype and device


def _fills(name: str, *categories: int) -> Any:
    """Declare an op that fills a tensor of these categories with draws."""
    return primitive(
        vjp("zeros", input=lambda g: zeros_like(g)),
        spec=lambda input: of_category(name, input, *categories),
        name=name,
        random=True,
        inplace=True,
    )


@_fills("uniform_", FLOAT, COMPLEX)
def _uniform_(xp: Any, generator: Any, input: Array, from_: float = 0.0, to: float = 1.0) -> Array:
    """Fill with random numbers, equally likely anywhere from one bound up to another."""
    if from_ > to:
        raise invalid_argument(f"uniform_: from {from_} to {to}", "from must not be more")
    return uniform(xp, generator, input.shape, dtype_of(input.dtype)) * (to - from_) + from_


@_fills("normal_", FLOAT, COMPLEX)
def _normal_(xp: Any, generator: Any, input: Array, mean: float = 0.0, std: float = 1.0) -> Array:
    """Fill with normal random numbers."""
    if std < 0:
        raise invalid_argument(f"normal_: std is {std}", "give std >= 0")
    return standard_normal(xp, generator, input.shape, dtype_of(input.dtype)) * std + mean


@_fills("exponential_", FLOAT)
def _exponential_(xp: Any, generator: Any, input: Array, lambd: float = 1.0) -> Array:
    """Fill with exponentially distributed random numbers."""
    if lambd <= 0:
        raise invalid_argument(f"exponential_: lambd is {lambd}", "give lambd > 0")
    return -xp.log1p(-uniform(xp, generator, input.shape, dtype_of(input.dtype))) / lambd


@_fills("bernoulli_", BOOL, INTEGER, FLOAT)
def _bernoulli_(xp: Any, generator: Any, input: Array, p: float = 0.5) -> Array:
    """Fill with 1, with a probability, and 0."""
    if not 0 <= p <= 1:
        raise invalid_argument(f"bernoulli_: p is {p}", "give 0 <= p <= 1")
    return generator.random(input.shape, dtype=xp.float64) < p
