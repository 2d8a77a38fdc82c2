"""Distributions of real numbers: normal, uniform, exponential."""

from __future__ import annotations

import math
from typing import Any

from gradwire.distributions.distribution import Distribution, Shape, broadcast
from gradwire.functions import op
from gradwire.tensor import Tensor
from gradwire.within import within


class Normal(Distribution):
    """Normal, of mean loc and standard deviation scale."""

    has_rsample, parameters = True, ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)
        self._check("loc", self.loc, self.loc == self.loc, "Real()")
        self._check("scale", self.scale, self.scale > 0, "GreaterThan(lower_bound=0.0)")

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        """Where it is densest."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended(sample_shape)
        with within(grad=False):
            return op("normal")(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        noise = op("randn")(self._extended(sample_shape), dtype=self.loc.dtype)
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value, lambda v: v == v)
        spread = 2 * self.scale**2
        exponent = -((value - self.loc) ** 2) / spread
        return exponent - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of less."""
        found: Tensor = (value - self.loc) * self.scale.reciprocal() / math.sqrt(2)
        return 0.5 * (1 + found.erf())

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which one draws with this probability."""
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class Uniform(Distribution):
    """Equally likely anywhere from low up to high."""

    has_rsample, parameters = True, ("low", "high")

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast(low, high)
        super().__init__(self.low.shape, (), validate_args)
        self._check("high", self.high, self.low < self.high, "GreaterThan(low)")

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / math.sqrt(12)

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = op("rand")(self._extended(sample_shape), dtype=self.low.dtype)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value, lambda v: (v >= self.low) & (v <= self.high))
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of less."""
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which one draws with this probability."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class Exponential(Distribution):
    """How long one waits for what comes at this rate."""

    has_rsample, parameters = True, ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast(rate)
        super().__init__(self.rate.shape, (), validate_args)
        self._check("rate", self.rate, self.rate > 0, "GreaterThan(lower_bound=0.0)")

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        """Where it is densest: at 0."""
        return self.rate.detach() * 0

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = op("empty")(self._extended(sample_shape), dtype=self.rate.dtype)
        return drawn.exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value, lambda v: v >= 0)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of less."""
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which one draws with this probability."""
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - self.rate.log()


__all__ = ["Exponential", "Normal", "Uniform"]
