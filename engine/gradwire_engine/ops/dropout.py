"""Dropout in its forms: elements or whole channels set to zero at random, the rest scaled up."""

from __future__ import annotations

from math import isfinite, prod, sqrt
from typing import Any

import numpy as np

from gradwire_engine.accepted import COMPLEX, WHOLE, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import composite, internal
from gradwire_engine.ops.axes import squeeze, unsqueeze
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.compare import gt, le
from gradwire_engine.ops.draw import uniform
from gradwire_engine.signature import Ints
from gradwire_engine.spec import Spec, dtype_of

LONG = 1 << 11
"""Masks of this many elements and more are drawn with 16 bits for each in place of 32."""

ALPHA = 1.7580993408473766
"""Minus the limit of SELU for large negative numbers (Klambauer et al., 2017, eq. 14)."""


def _check(asked: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise invalid_argument(
            f"{asked}: the probability is {p}", "it must lie between 0 and 1", raised=ValueError
        )


def _kept_spec(input: Spec, shape: Ints, p: float) -> Spec:
    if p < 1:  # all are dropped of any dtype
        refuse("dropout", WHOLE, input, raised=RuntimeError)
        refuse("dropout", (COMPLEX,), input)
    return input.with_(shape=shape)


@internal(spec=_kept_spec, random=True)
def kept(xp: Any, generator: Any, input: Array, shape: Ints, p: float, scale: float) -> Array:
    """A mask in the input's dtype: `scale` with probability 1 - p, else 0."""
    if type(generator) is np.random.Generator and prod(shape) >= LONG and 0 < p < 1:
        held = _held(generator, prod(shape), p).reshape(shape)
    else:
        held = generator.random(shape, dtype=xp.float32) >= p
    if input.dtype == xp.float32:
        return xp.multiply(held, xp.float32(scale))
    return (held.astype(input.dtype) * scale).astype(input.dtype, copy=False)


def _held(generator: np.random.Generator, count: int, p: float) -> Array:
    """True with probability 1 - p: 16 bits decide, and another draw where they are those of p."""
    level, rest = divmod(p * 2**16, 1)
    bits = generator.bit_generator.random_raw(-(-count // 4)).view(np.uint16)[:count]
    held: Array = bits > np.uint16(level)
    ties = np.flatnonzero(bits == np.uint16(level))
    held[ties] = generator.random(len(ties)) >= rest
    return held


@internal(random=True)
def uniform_between(xp: Any, generator: Any, input: Array, low: float, high: float) -> Array:
    """Random numbers between two bounds, in the shape of the input."""
    return uniform(xp, generator, input.shape, dtype_of(input.dtype)) * (high - low) + low


def _dropped(input: Any, shape: Ints, p: float) -> Any:
    return input * kept(input, shape, p, 1 / (1 - p) if p < 1 else 0.0)


def _idle(input: Any, p: float, training: bool) -> bool:
    return not training or not p or 0 in input.shape


@composite(name="nn.functional.dropout", random=True, inplace=True)
def dropout(input: Array, p: float = 0.5, training: bool = True) -> Array:
    """In training set each element to zero with probability p and scale the rest by 1 / (1 - p)."""
    _check("dropout", p)
    return input if _idle(input, p, training) else _dropped(input, tuple(input.shape), p)


@composite(name="dropout", random=True, inplace=True)
def _dropout(input: Array, p: float, train: bool) -> Array:
    """In training set each element to zero with probability p and scale the rest by 1 / (1 - p)."""
    return dropout(input, p, train)


def _channels(input: Any) -> Ints:
    """The shape of one number for each channel of each sample."""
    if input.ndim < 2:
        raise invalid_argument(
            f"feature dropout: takes samples with channels, the tensor has {input.ndim} axes",
            "give it at least 2",
        )
    return (*input.shape[:2], *[1] * (input.ndim - 2))


def _feature_dropout(input: Any, p: float, training: bool) -> Any:
    """Whole channels."""
    return input if _idle(input, p, training) else _dropped(input, _channels(input), p)


def _of_one(input: Any, p: float, training: bool) -> Any:
    """The same of a single sample, which gets a batch axis for the time."""
    return squeeze(_feature_dropout(unsqueeze(input, 0), p, training), 0)


@composite(name="nn.functional.dropout1d", random=True, inplace=True)
def dropout1d(input: Array, p: float = 0.5, training: bool = True) -> Array:
    """In training set whole channels of sequences to zero with probability p."""
    _check("dropout1d", p)
    if input.ndim not in (2, 3):
        raise invalid_argument(
            f"dropout1d: takes (N, C, L) or (C, L), the tensor has {input.ndim} axes",
            "use dropout2d or dropout3d for more axes",
        )
    return (_of_one if input.ndim == 2 else _feature_dropout)(input, p, training)


@composite(name="nn.functional.dropout2d", random=True, inplace=True)
def dropout2d(input: Array, p: float = 0.5, training: bool = True) -> Array:
    """In training set whole channels of images to zero with probability p."""
    _check("dropout2d", p)
    return _feature_dropout(input, p, training)


@composite(name="nn.functional.dropout3d", random=True, inplace=True)
def dropout3d(input: Array, p: float = 0.5, training: bool = True) -> Array:
    """In training set whole channels of volumes to zero with probability p."""
    _check("dropout3d", p)
    return (_feature_dropout if input.ndim == 5 else _of_one)(input, p, training)


def _alpha_dropped(input: Any, shape: Ints, p: float) -> Any:
    """Set to SELU's lower limit, then shifted and scaled to keep mean and variance."""
    if p == 1:
        return input * kept(input, shape, 1.0, 0.0)
    scale = 1 / sqrt((ALPHA**2 * p + 1) * (1 - p))
    mask = kept(input, shape, p, 1.0)
    return input * (mask * scale) + ((mask - 1) * (ALPHA * scale) + ALPHA * scale * p)


@composite(name="nn.functional.alpha_dropout", random=True, inplace=True)
def alpha_dropout(input: Array, p: float = 0.5, training: bool = False) -> Array:
    """Dropout for SELU networks: keeps mean and variance."""
    _check("alpha_dropout", p)
    if _idle(input, p, training):
        return input
    return _alpha_dropped(input, tuple(input.shape), p)


@composite(name="nn.functional.feature_alpha_dropout", random=True, inplace=True)
def feature_alpha_dropout(input: Array, p: float = 0.5, training: bool = False) -> Array:
    """Alpha dropout of whole channels."""
    _check("feature_alpha_dropout", p)
    return input if _idle(input, p, training) else _alpha_dropped(input, _channels(input), p)


@composite(
    name="nn.functional.rrelu", grad_name="RreluWithNoiseBackward0", random=True, inplace=True
)
def rrelu(
    input: Array, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False
) -> Array:
    """ReLU whose slope below zero is random between two bounds; their middle when not training."""
    if not (isfinite(lower) and isfinite(upper) and lower <= upper):
        raise invalid_argument(
            f"rrelu: lower is {lower}, upper is {upper}",
            "the bounds are finite, and lower is not above upper",
        )
    refuse("rrelu", WHOLE, input)
    if not training:
        return where(gt(input, 0), input, input * ((lower + upper) / 2))
    return where(le(input, 0), input * uniform_between(input, lower, upper), input)
