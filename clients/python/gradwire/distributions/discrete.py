"""Distributions of whole numbers: Bernoulli and categorical, by probabilities or by logits."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

from gradwire.distributions.distribution import Distribution, Shape, broadcast
from gradwire.functions import op
from gradwire.ranges import finfo
from gradwire.tensor import Tensor
from gradwire.within import within


def _one_of(probs: Any, logits: Any) -> Any:
    """The one that is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return logits if probs is None else probs


class _OfChances(Distribution):
    """One of probs and logits is given, the other follows."""

    def __init__(self, probs: Any, shape: Any, validate_args: bool | None) -> None:
        self._given_name = "logits" if probs is None else "probs"
        super().__init__(shape, (), validate_args)

    def _given(self) -> tuple[str, ...]:
        return (self._given_name,)

    @property
    def param_shape(self) -> Any:
        """The shape of probs and logits."""
        return getattr(self, self._given_name).shape


def _clamped(probs: Tensor) -> Tensor:
    """Probabilities that are neither 0 nor 1, as torch has them under a logarithm."""
    least: float = finfo(probs.dtype).eps
    return probs.clamp(min=least, max=1 - least)


class Bernoulli(_OfChances):
    """1 with probability probs, else 0."""

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        (value,) = broadcast(_one_of(probs, logits))
        super().__init__(probs, value.shape, validate_args)
        if probs is None:
            self.logits = value
            self._check("logits", value, value == value, "Real()")
        else:
            self.probs = value
            well = (value >= 0) & (value <= 1)
            self._check("probs", value, well, "Interval(lower_bound=0.0, upper_bound=1.0)")

    @cached_property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self.logits.sigmoid()

    @cached_property
    def logits(self) -> Tensor:
        """The logarithm of the odds."""
        clamped = _clamped(self.probs)
        return clamped.log() - (-clamped).log1p()

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The likelier of the two; NaN where they are equally likely."""
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return mode.masked_fill(self.probs == 0.5, float("nan"))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with within(grad=False):
            return self.probs.expand(self._extended(sample_shape)).bernoulli()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value, lambda v: (v == 0) | (v == 1))
        logits, value = op("broadcast_tensors")(self.logits, value)
        return -_cross_entropy(logits, value)

    def entropy(self) -> Tensor:
        return _cross_entropy(self.logits, self.probs)


def _cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    return op("nn.functional.binary_cross_entropy_with_logits")(logits, target, reduction="none")


class Categorical(_OfChances):
    """Numbers of categories, in proportion to probs along the last axis."""

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        given = _one_of(probs, logits)
        if given.ndim < 1:
            name = "logits" if probs is None else "probs"
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        super().__init__(probs, given.shape[:-1], validate_args)
        self._num_events = given.shape[-1]
        if probs is None:
            self.logits = given - given.logsumexp(-1, keepdim=True)
            self._check("logits", given, given == given, "IndependentConstraint(Real(), 1)")
        else:
            self.probs = given / given.sum(-1, keepdim=True)
            well = (given >= 0) & ((self.probs.sum(-1, keepdim=True) - 1).abs() < 1e-6)
            self._check("probs", given, well, "Simplex()")

    def _event_of_parameters(self) -> tuple[int, ...]:
        return (self._num_events,)

    @cached_property
    def probs(self) -> Tensor:
        """The probability of each category."""
        return self.logits.softmax(-1)

    @cached_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return _clamped(self.probs).log()

    @property
    def mean(self) -> Tensor:
        return op("full")(self._extended(()), float("nan"), dtype=self.probs.dtype)

    @property
    def mode(self) -> Tensor:
        """The likeliest category."""
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return self.mean

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended(sample_shape)
        with within(grad=False):
            rows = self.probs.reshape(-1, self._num_events)
            return rows.multinomial(prod(sample_shape), True).T.reshape(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value, lambda v: (v % 1 == 0) & (v >= 0) & (v < self._num_events))
        places = value.long().unsqueeze(-1)
        places, logits = op("broadcast_tensors")(places, self.logits)
        return op("gather")(logits, -1, places[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        least = finfo(self.logits.dtype).min
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All categories, along a new first axis."""
        every = op("arange")(self._num_events)
        every = every.view(-1, *[1] * len(self.batch_shape))
        return every.expand(-1, *self.batch_shape) if expand else every


__all__ = ["Bernoulli", "Categorical"]
