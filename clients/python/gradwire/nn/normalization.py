"""Layers that normalise."""

from __future__ import annotations

from typing import Any

from gradwire.functions import catalogued
from gradwire.nn import init
from gradwire.nn.module import Module, settings
from gradwire.nn.parameter import declare
from gradwire.tensor import Tensor
from gradwire_engine.spec import int64


def _sizes(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


class _Affine(Module):
    """Normalisation whose results are scaled by a weight, and shifted by a bias if it has one."""

    def _scale(self, shape: tuple[int, ...] | None, bias: bool, device: Any, dtype: Any) -> None:
        """Have a weight of this shape, if any, and a bias of it if asked."""
        declare(self, device, dtype, weight=shape, bias=shape if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin without scale and shift."""
        if self.weight is not None:
            init.ones_(self.weight)
        if getattr(self, "bias", None) is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """Mean 0 and variance 1 over the last axes, then scaled and shifted."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps = _sizes(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        self._scale(self.normalized_shape if elementwise_affine else None, bias, device, dtype)

    def forward(self, input: Tensor) -> Any:
        return input.layer_norm(self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        said = settings(self, "eps", "elementwise_affine", "bias")
        return f"{self.normalized_shape}, {said}"


class RMSNorm(_Affine):
    """Root mean square 1 over the last axes, then scaled."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps = _sizes(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        shape = self.normalized_shape if elementwise_affine else None
        declare(self, device, dtype, weight=shape)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Any:
        return input.rms_norm(self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, {settings(self, 'eps', 'elementwise_affine')}"


class GroupNorm(_Affine):
    """Mean 0 and variance 1 over each group of channels, then scaled and shifted by channel."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.affine = affine
        self._scale((num_channels,) if affine else None, bias, device, dtype)

    def forward(self, input: Tensor) -> Any:
        return input.group_norm(self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        said = settings(self, "eps", "affine", "bias")
        return f"{self.num_groups}, {self.num_channels}, {said}"


class _Running(_Affine):
    """Normalisation that keeps running means and variances of its input by channel."""

    ndims: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        shape = (num_features,) if affine else None
        declare(self, device, dtype, weight=shape, bias=shape if bias else None)
        zeros = catalogued("zeros")
        for name, sizes, kind in (
            ("running_mean", (num_features,), dtype),
            ("running_var", (num_features,), dtype),
            ("num_batches_tracked", (), int64),
        ):
            made = zeros(sizes, device=device, dtype=kind) if track_running_stats else None
            self.register_buffer(name, made)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the statistics."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Begin without scale, shift and statistics."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check(self, input: Tensor) -> None:
        if input.ndim not in self.ndims:
            wanted = " or ".join(f"{n}D" for n in self.ndims)
            raise ValueError(f"expected {wanted} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        said = settings(self, "eps", "momentum", "affine", "bias", "track_running_stats")
        return f"{self.num_features}, {said}"


class BatchNorm(_Running):
    """Mean 0 and variance 1 over the batch by channel; in use, by the running statistics."""

    def forward(self, input: Tensor) -> Any:
        self._check(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / self.num_batches_tracked.item()
        kept = not self.training or self.track_running_stats
        return input.batch_norm(
            self.running_mean if kept else None,
            self.running_var if kept else None,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            momentum,
            self.eps,
        )


class InstanceNorm(_Running):
    """Mean 0 and variance 1 for each example by channel."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        settings = (eps, momentum, affine, track_running_stats, device, dtype)
        super().__init__(num_features, *settings, bias=bias)

    def forward(self, input: Tensor) -> Any:
        self._check(input)
        alone = input.ndim == self.ndims[0]
        found = (input.unsqueeze(0) if alone else input).instance_norm(
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return found.squeeze(0) if alone else found


__all__ = ["GroupNorm", "LayerNorm", "RMSNorm"]
