"""The loss that takes a function of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire.nn import functional
from gradwire.nn.module import Module
from gradwire.tensor import Tensor


class TripletMarginWithDistanceLoss(Module):
    """How much nearer than a margin the negative is, by a distance of one's own."""

    def __init__(
        self, *, distance_function: Callable[[Any, Any], Any] | None = None, margin: float = 1.0,
        swap: bool = False, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__()
        self.distance_function = distance_function
        self.margin, self.swap, self.reduction = margin, swap, reduction

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Any:
        return functional.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function,
            margin=self.margin, swap=self.swap, reduction=self.reduction,
        )  # fmt: skip


__all__ = ["TripletMarginWithDistanceLoss"]
