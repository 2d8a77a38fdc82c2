"""torch.optim.lr_scheduler: learning rates that change from epoch to epoch."""

from __future__ import annotations

from gradwire.optim.cycles import CosineAnnealingWarmRestarts, OneCycleLR
from gradwire.optim.decays import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from gradwire.optim.plateau import ReduceLROnPlateau
from gradwire.optim.rates import LRScheduler
from gradwire.optim.series import ChainedScheduler, SequentialLR

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
