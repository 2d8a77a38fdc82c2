"""Modules that move elements: padding, other sizes."""

from __future__ import annotations

from typing import Any, ClassVar

from gradwire.functions import catalogued
from gradwire.nn.applied import Applied
from gradwire.nn.module import Module, settings
from gradwire.tensor import Tensor


class Upsample(Applied, op="nn.functional.interpolate"):
    without = (*Applied.without, "antialias")


class UpsamplingTo(Upsample):
    without = (*Upsample.without, "mode", "align_corners", "recompute_scale_factor")
    kind: ClassVar[dict[str, Any]]

    def forward(self, input: Tensor) -> Any:
        return catalogued(self._op)(input, self.size, self.scale_factor, **self.kind)


class Pad(Module):
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


class ConstantPad(Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return settings(self, "padding", "value")


__all__ = ["Upsample"]
