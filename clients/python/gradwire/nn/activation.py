"""Activations that are more than an op with its settings."""

from __future__ import annotations

import warnings
from typing import Any

from gradwire.functions import catalogued
from gradwire.nn.applied import Applied
from gradwire.nn.init import constant_
from gradwire.nn.module import Module, settings
from gradwire.nn.parameter import declare
from gradwire.tensor import Tensor


class AlongAxis(Applied):
    """A module whose op needs an axis, of which torch's module takes one for granted."""

    dim: int | None

    @classmethod
    def _parameters_of(cls) -> dict[str, Any]:
        return {"dim": None}

    def forward(self, input: Tensor) -> Any:
        dim = self.dim
        if dim is None:
            warnings.warn(
                f"Implicit dimension choice for {type(self).__name__} has been deprecated. Change "
                "the call to include dim=X as an argument.",
                UserWarning,
                stacklevel=3,
            )
            dim = 0 if input.ndim in (0, 1, 3) else 1
        return catalogued(self._op)(input, dim)


class Softmax2d(Module):
    """Softmax over the channels of each place of an image."""

    def forward(self, input: Tensor) -> Any:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return input.softmax(-3)


class PReLU(Module):
    """Leaky ReLU whose slope is learned: one for all channels, or one each."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        declare(self, device, dtype, weight=(num_parameters,))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin with the slope `init`."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Any:
        return input.prelu(self.weight)

    def extra_repr(self) -> str:
        return settings(self, "num_parameters")


__all__ = ["PReLU", "Softmax2d"]
