"""Pooling: the greatest or the mean of each window."""

from __future__ import annotations

from typing import Any

from gradwire.functions import catalogued
from gradwire.nn.applied import Applied
from gradwire.tensor import Tensor

_F = "nn.functional."
_MAX = ("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")


class _Pool(Applied):
    """Windows that lie side by side unless a stride is given."""

    shown: tuple[str, ...] = ("kernel_size", "stride", "padding")
    kernel_size: Any
    stride: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.stride is None:
            self.stride = self.kernel_size


class _MaxPool(_Pool):
    order = _MAX
    shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")


class MaxPool1d(_MaxPool, op=f"{_F}max_pool1d"): ...


class MaxPool2d(_MaxPool, op=f"{_F}max_pool2d"): ...


class MaxPool3d(_MaxPool, op=f"{_F}max_pool3d"): ...


class AvgPool1d(_Pool, op=f"{_F}avg_pool1d"): ...


class AvgPool2d(_Pool, op=f"{_F}avg_pool2d"): ...


class AvgPool3d(_Pool, op=f"{_F}avg_pool3d"): ...


class AdaptiveAvgPool1d(Applied, op=f"{_F}adaptive_avg_pool1d"): ...


class AdaptiveAvgPool2d(Applied, op=f"{_F}adaptive_avg_pool2d"): ...


class AdaptiveAvgPool3d(Applied, op=f"{_F}adaptive_avg_pool3d"): ...


class AdaptiveMaxPool1d(Applied, op=f"{_F}adaptive_max_pool1d"):
    shown = ("output_size",)


class AdaptiveMaxPool2d(Applied, op=f"{_F}adaptive_max_pool2d"):
    shown = ("output_size",)


class AdaptiveMaxPool3d(Applied, op=f"{_F}adaptive_max_pool3d"):
    shown = ("output_size",)


class LPPool1d(Applied, op=f"{_F}lp_pool1d"): ...


class LPPool2d(Applied, op=f"{_F}lp_pool2d"): ...


class LPPool3d(Applied, op=f"{_F}lp_pool3d"): ...


class _Unpool(_Pool):
    """Each value back to where max pooling found it; zeros elsewhere."""

    without = (*Applied.without, "indices", "output_size")

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Any:
        settings = (self.kernel_size, self.stride, self.padding, output_size)
        return catalogued(self._op)(input, indices, *settings)


class MaxUnpool1d(_Unpool, op=f"{_F}max_unpool1d"): ...


class MaxUnpool2d(_Unpool, op=f"{_F}max_unpool2d"): ...


class MaxUnpool3d(_Unpool, op=f"{_F}max_unpool3d"): ...


__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d",
    "LPPool2d", "LPPool3d", "MaxPool1d",
    "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip
