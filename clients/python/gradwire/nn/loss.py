"""Losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire.nn import functional
from gradwire.nn.applied import Loss
from gradwire.nn.module import Module
from gradwire.tensor import Tensor

_F = "nn.functional."


class L1Loss(Loss, op=f"{_F}l1_loss"):
    without = ("weight",)


class MSELoss(Loss, op=f"{_F}mse_loss"):
    without = ("weight",)


class SmoothL1Loss(Loss, op=f"{_F}smooth_l1_loss"): ...


class HuberLoss(Loss, op=f"{_F}huber_loss"):
    without = ("weight",)


class CrossEntropyLoss(Loss, op=f"{_F}cross_entropy"): ...


class NLLLoss(Loss, op=f"{_F}nll_loss"): ...


class BCELoss(Loss, op=f"{_F}binary_cross_entropy"): ...


class BCEWithLogitsLoss(Loss, op=f"{_F}binary_cross_entropy_with_logits"): ...


class KLDivLoss(Loss, op=f"{_F}kl_div"): ...


class PoissonNLLLoss(Loss, op=f"{_F}poisson_nll_loss"): ...


class GaussianNLLLoss(Loss, op=f"{_F}gaussian_nll_loss"):
    operands = 3


class HingeEmbeddingLoss(Loss, op=f"{_F}hinge_embedding_loss"): ...


class CosineEmbeddingLoss(Loss, op=f"{_F}cosine_embedding_loss"):
    operands = 3


class MarginRankingLoss(Loss, op=f"{_F}margin_ranking_loss"):
    operands = 3


class TripletMarginLoss(Loss, op=f"{_F}triplet_margin_loss"):
    operands = 3


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


class CTCLoss(Loss, op=f"{_F}ctc_loss"):
    operands = 4


class SoftMarginLoss(Loss, op=f"{_F}soft_margin_loss"): ...


class MultiMarginLoss(Loss, op=f"{_F}multi_margin_loss"): ...


class MultiLabelMarginLoss(Loss, op=f"{_F}multilabel_margin_loss"): ...


class MultiLabelSoftMarginLoss(Loss, op=f"{_F}multilabel_soft_margin_loss"): ...


__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss",
    "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss",
    "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss",
    "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]  # fmt: skip
