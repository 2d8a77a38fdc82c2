"""Dense layers, and modules that only reshape."""

from __future__ import annotations

import math
from typing import Any

from gradwire.functions import catalogued
from gradwire.nn import init
from gradwire.nn.module import Module, settings
from gradwire.nn.parameter import declare
from gradwire.tensor import Tensor


class Identity(Module):
    """Gives what it gets; takes any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """y = x Aᵀ + b. Shape: (…, in_features) to (…, out_features)."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        shapes = {"weight": (out_features, in_features), "bias": (out_features,) if bias else None}
        declare(self, device, dtype, **shapes)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin evenly between ±1 / √in_features."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Any:
        return catalogued("nn.functional.linear")(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return settings(self, "in_features", "out_features", "bias")


class Bilinear(Module):
    """y = x₁ᵀ A x₂ + b, for each output a matrix A."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        declare(self, device, dtype, weight=shape, bias=(out_features,) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin evenly between ±1 / √in1_features."""
        bound = 1 / math.sqrt(self.in1_features)
        for p in (self.weight, self.bias):
            if p is not None:
                init.uniform_(p, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Any:
        return catalogued("nn.functional.bilinear")(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return settings(self, "in1_features", "in2_features", "out_features", "bias")


class Flatten(Module):
    """Several axes as one: all but the first, unless told otherwise."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Any:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return settings(self, "start_dim", "end_dim")


class Unflatten(Module):
    """One axis as several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Any:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return settings(self, "dim", "unflattened_size")


__all__ = ["Bilinear", "Flatten", "Identity", "Linear", "Unflatten"]
