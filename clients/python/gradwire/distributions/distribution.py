"""What all distributions have in common: a batch of them, each of events of one shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gradwire.creation import as_tensor
from gradwire.functions import op
from gradwire.size import Size
from gradwire.tensor import Tensor
from gradwire.trace import innermost
from gradwire.within import within

Shape = Sequence[int]


class Distribution:
    """A batch of distributions. batch_shape: of the batch; event_shape: of what each one draws.

    validate_args: whether parameters and values are looked at, and refused by a ValueError; in a
    function that is written down they never are.
    """

    has_rsample: ClassVar[bool] = False
    parameters: ClassVar[tuple[str, ...]] = ()
    _looks: ClassVar[bool] = __debug__

    def __init__(
        self,
        batch_shape: Shape = (),
        event_shape: Shape = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._looks = validate_args  # type: ignore[misc]

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions look at parameters and values where they are not told."""
        if value not in (True, False):
            raise ValueError
        Distribution._looks = value

    @property
    def batch_shape(self) -> Size:
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        raise NotImplementedError

    @property
    def variance(self) -> Tensor:
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Draw so many samples from each; constants to the graph."""
        with within(grad=False):
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Draw so many samples from each, differentiable by the parameters."""
        raise NotImplementedError

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or probability, at a value."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy of each, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """e to the entropy."""
        return self.entropy().exp()

    def expand(self, batch_shape: Shape) -> Any:
        """The same for a larger batch."""
        shape = (*batch_shape, *self._event_of_parameters())
        found = {name: getattr(self, name).expand(shape) for name in self._given()}
        return type(self)(**found, validate_args=False)

    def _given(self) -> tuple[str, ...]:
        """The names of the parameters that it was made of."""
        return self.parameters

    def _event_of_parameters(self) -> tuple[int, ...]:
        return tuple(self._event_shape)

    def _extended(self, sample_shape: Shape) -> tuple[int, ...]:
        return (*sample_shape, *self._batch_shape, *self._event_shape)

    def _check(self, name: str, value: Tensor, well: Any, meant: str) -> None:
        """Refuse a parameter that is not what is meant."""
        if self._looks and innermost() is None and not bool(well.all()):
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"of distribution {self!r} to satisfy the constraint {meant}, but found invalid "
                f"values:\n{value}"
            )

    def _check_value(self, value: Any, well: Any) -> None:
        """Refuse what is no tensor, or no batch of events, or never drawn."""
        if not self._looks:
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        expected = (*self._batch_shape, *self._event_shape)
        pairs = zip(reversed(value.shape), reversed(expected), strict=False)
        events = len(self._event_shape)
        short = tuple(value.shape)[value.ndim - events :] != tuple(self._event_shape)
        if short or any(i != j and 1 not in (i, j) for i, j in pairs):
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {tuple(value.shape)} vs "
                f"{expected}."
            )
        if innermost() is None and not bool(well(value).all()):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support of the distribution {self!r}, but found invalid "
                f"values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = [(name, getattr(self, name)) for name in self._given()]
        told = [f"{n}: {v if v.numel() == 1 else v.size()}" for n, v in shown]
        return f"{type(self).__name__}({', '.join(told)})"


def broadcast(*values: Any) -> list[Tensor]:
    """Parameters, tensors or numbers, in one shape."""
    like = next((v for v in values if isinstance(v, Tensor)), None)
    dtype = None if like is None else like.dtype
    made = [v if isinstance(v, Tensor) else as_tensor(float(v), dtype=dtype) for v in values]
    return list(op("broadcast_tensors")(*made))


class Independent(Distribution):
    """A distribution of which the last axes of the batch are axes of the event."""

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        most = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > most:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {most}"
            )
        kept = most - reinterpreted_batch_ndims
        super().__init__(shape[:kept], shape[kept:], validate_args)
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether the one below has it."""
        return self.base_dist.has_rsample

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """Where it is densest."""
        found: Tensor = self.base_dist.mode  # type: ignore[attr-defined]
        return found

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return self.summed(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        return self.summed(self.base_dist.entropy())

    def summed(self, value: Tensor) -> Tensor:
        """Over those axes that belong to the event."""
        axes = tuple(range(-self.reinterpreted_batch_ndims, 0))
        return value.sum(axes) if axes else value

    def expand(self, batch_shape: Shape) -> Independent:
        own = self.base_dist.batch_shape[len(self._batch_shape) :]
        base = self.base_dist.expand((*batch_shape, *own))
        return Independent(base, self.reinterpreted_batch_ndims, False)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


__all__ = ["Distribution", "Independent", "broadcast"]
