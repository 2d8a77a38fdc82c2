"""A learning rate that goes down where a figure does not become better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradwire.optim.groups import Optimizer
from gradwire.optim.rates import Scheduled


class ReduceLROnPlateau(Scheduled):
    """Times factor when a figure has not become better for more than `patience` epochs.

    min_lr: the lowest rate, of all groups or of each.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        count = len(optimizer.param_groups)
        self.min_lrs = [*min_lr] if isinstance(min_lr, list | tuple) else [min_lr] * count
        if len(self.min_lrs) != count:
            raise ValueError(f"expected {count} min_lrs, got {len(self.min_lrs)}")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.eps = cooldown, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._note_rates()

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        """Note the figure of an epoch."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._better(current):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._note_rates()

    def _better(self, current: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        margin = self.threshold
        if self.threshold_mode == "rel" and math.isfinite(self.best):
            margin = self.threshold * self.best * sign
            return sign * current > sign * (self.best + margin)
        return sign * current > sign * self.best + margin

    def _reduce(self) -> None:
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            lower = max(group["lr"] * self.factor, least)
            if group["lr"] - lower > self.eps:
                group["lr"] = lower


__all__ = ["ReduceLROnPlateau"]
