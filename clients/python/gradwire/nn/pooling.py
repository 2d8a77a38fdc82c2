"""Pooling: the greatest or the mean of each window."""

from __future__ import annotations

from typing import Any

from gradwire.functions import catalogued
from gradwire.nn.applied import Applied
from gradwire.tensor import Tensor

_MAX = ("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")


class Pool(Applied):
    """Windows that lie side by side unless a stride is given."""

    shown: tuple[str, ...] = ("kernel_size", "stride", "padding")
    kernel_size: Any
    stride: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.stride is None:
            self.stride = self.kernel_size


class MaxPool(Pool):
    order = _MAX
    shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")


class Unpool(Pool):
    """Each value back to where max pooling found it; zeros elsewhere."""

    without = (*Applied.without, "indices", "output_size")

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Any:
        settings = (self.kernel_size, self.stride, self.padding, output_size)
        return catalogued(self._op)(input, indices, *settings)


__all__ = ["MaxPool", "Pool", "Unpool"]
