"""Modules that move elements: shuffles, windows, padding, sizes."""

from __future__ import annotations

from typing import Any, ClassVar

from gradwire.functions import catalogued
from gradwire.nn.applied import Applied
from gradwire.nn.module import Module
from gradwire.tensor import Tensor

_F = "nn.functional."


class PixelShuffle(Applied, op=f"{_F}pixel_shuffle"): ...


class PixelUnshuffle(Applied, op=f"{_F}pixel_unshuffle"): ...


class ChannelShuffle(Applied, op=f"{_F}channel_shuffle"): ...


class Fold(Applied, op=f"{_F}fold"): ...


class Unfold(Applied, op=f"{_F}unfold"): ...


class Upsample(Applied, op=f"{_F}interpolate"):
    without = (*Applied.without, "antialias")


class _UpsamplingTo(Upsample):
    without = (*Upsample.without, "mode", "align_corners", "recompute_scale_factor")
    kind: ClassVar[dict[str, Any]]

    def forward(self, input: Tensor) -> Any:
        return catalogued(self._op)(input, self.size, self.scale_factor, **self.kind)


class UpsamplingNearest2d(_UpsamplingTo):
    kind: ClassVar[dict[str, Any]] = {"mode": "nearest"}


class UpsamplingBilinear2d(_UpsamplingTo):
    kind: ClassVar[dict[str, Any]] = {"mode": "bilinear", "align_corners": True}


class _Pad(Module):
    """What is added at both ends of the last axes: one number, or two for each, the last first."""

    axes = 0
    mode = "constant"
    value: float | None = None

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self.axes) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Any:
        return catalogued("nn.functional.pad")(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """A number at both ends of the last axis."""

    axes = 1


class ConstantPad2d(_ConstantPad):
    """A number around the last two axes."""

    axes = 2


class ConstantPad3d(_ConstantPad):
    """A number around the last three axes."""

    axes = 3


class ZeroPad1d(_Pad):
    """Zeros at both ends of the last axis."""

    axes = 1


class ZeroPad2d(_Pad):
    """Zeros around the last two axes."""

    axes = 2


class ZeroPad3d(_Pad):
    """Zeros around the last three axes."""

    axes = 3


class ReflectionPad1d(_Pad):
    """The last axis mirrored at its ends."""

    axes, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """The last two axes mirrored at their ends."""

    axes, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """The last three axes mirrored at their ends."""

    axes, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """The ends of the last axis drawn out."""

    axes, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """The ends of the last two axes drawn out."""

    axes, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """The ends of the last three axes drawn out."""

    axes, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """The last axis begun anew at its ends."""

    axes, mode = 1, "circular"


class CircularPad2d(_Pad):
    """The last two axes begun anew at their ends."""

    axes, mode = 2, "circular"


class CircularPad3d(_Pad):
    """The last three axes begun anew at their ends."""

    axes, mode = 3, "circular"


__all__ = [
    "ChannelShuffle", "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d",
    "ConstantPad2d", "ConstantPad3d", "Fold", "PixelShuffle", "PixelUnshuffle", "ReflectionPad1d",
    "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "Unfold", "Upsample", "UpsamplingBilinear2d",
    "UpsamplingNearest2d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip
