"""Convolutions of one to three axes, and their transposes."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

from gradwire.functions import catalogued
from gradwire.nn import init
from gradwire.nn.module import Module, settings
from gradwire.nn.parameter import declare
from gradwire.tensor import Tensor

_PADS = ("zeros", "reflect", "replicate", "circular")


class Convolution(Module):
    axes = 0
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        *,
        output_padding: Any = 0,
    ) -> None:
        super().__init__()
        _check(in_channels, out_channels, groups, padding_mode)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = self._each(kernel_size), self._each(stride)
        self.padding = padding if isinstance(padding, str) else self._each(padding)
        self.dilation, self.output_padding = self._each(dilation), self._each(output_padding)
        self.padding_mode = padding_mode
        outer, inner = out_channels, in_channels // groups
        if self.transposed:
            outer, inner = in_channels, out_channels // groups
        shape = (outer, inner, *self.kernel_size)
        declare(self, device, dtype, weight=shape, bias=(out_channels,) if bias else None)
        self.reset_parameters()

    def _each(self, value: Any) -> tuple[int, ...]:
        """A setting for each axis."""
        return (value,) * self.axes if isinstance(value, int) else tuple(value)

    def reset_parameters(self) -> None:
        """Begin evenly between ±1 / √(inputs of each output)."""
        init.kaiming_uniform_(self.weight, a=sqrt(5))
        inputs = self.weight.shape[1] * prod(self.kernel_size)
        if self.bias is not None and inputs:
            init.uniform_(self.bias, -1 / sqrt(inputs), 1 / sqrt(inputs))

    def forward(self, input: Tensor) -> Any:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = catalogued("nn.functional.pad")(input, self._sides(), self.padding_mode)
            padding = self._each(0)
        apply = catalogued(f"nn.functional.conv{self.axes}d")
        return apply(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def _sides(self) -> list[int]:
        """What is added on both sides of each axis, the last axis first."""
        if isinstance(self.padding, str):
            if self.padding == "valid":
                return [0] * (2 * self.axes)
            both = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [side for total in reversed(both) for side in (total // 2, total - total // 2)]
        return [pad for pad in reversed(self.padding) for _ in range(2)]

    def extra_repr(self) -> str:
        zeros, ones = self._each(0), self._each(1)
        said = settings(
            self, "kernel_size", "stride", padding=zeros, dilation=ones, output_padding=zeros,
            groups=1, bias=True, padding_mode="zeros",
        )  # fmt: skip
        return f"{self.in_channels}, {self.out_channels}, {said}"


class Transposed(Convolution):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
            padding_mode, device, dtype, output_padding=output_padding,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: Any = None) -> Any:
        added = self.output_padding if output_size is None else self._added(input, output_size)
        apply = catalogued(f"nn.functional.conv_transpose{self.axes}d")
        return apply(
            input, self.weight, self.bias, self.stride, self.padding, added, self.groups,
            self.dilation,
        )  # fmt: skip

    def _added(self, input: Tensor, output_size: Any) -> list[int]:
        """The output_padding that gives an output of this size."""
        assert not isinstance(self.padding, str)
        wanted: list[int] = list(output_size)[-self.axes :]
        least = [
            (input.shape[axis - self.axes] - 1) * self.stride[axis]
            - 2 * self.padding[axis]
            + self.dilation[axis] * (self.kernel_size[axis] - 1)
            + 1
            for axis in range(self.axes)
        ]
        for size, low, s in zip(wanted, least, self.stride, strict=True):
            if not low <= size < low + s:
                raise ValueError(
                    f"requested an output size of {wanted}, but valid sizes range from {least} to "
                    f"{[a + b - 1 for a, b in zip(least, self.stride, strict=True)]}"
                )
        return [size - low for size, low in zip(wanted, least, strict=True)]


def _check(in_channels: int, out_channels: int, groups: int, padding_mode: str) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")
    if padding_mode not in _PADS:
        raise ValueError(f"padding_mode must be one of {set(_PADS)}, but got {padding_mode!r}")


__all__ = ["Convolution", "Transposed"]
