"""torch.optim.lr_scheduler: learning rates that change from epoch to epoch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from gradwire.optim.optimizer import Optimizer


class LRScheduler:
    """Sets each group's lr to its first one times a factor of the epoch."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def factor(self, epoch: int, place: int) -> float:
        """What a group's first learning rate is multiplied by at an epoch."""
        raise NotImplementedError

    def get_lr(self) -> list[float]:
        """The learning rates of this epoch."""
        return [lr * self.factor(self.last_epoch, i) for i, lr in enumerate(self.base_lrs)]

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for group, lr in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = lr

    def get_last_lr(self) -> list[float]:
        """The learning rates in force."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict takes: numbers, no functions."""
        own = {k: v for k, v in vars(self).items() if k != "optimizer"}
        return {k: v for k, v in own.items() if not k.startswith("_functions")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where another one was."""
        vars(self).update(state_dict)


class LambdaLR(LRScheduler):
    """A factor that a function of the epoch gives, one for all groups or one each."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        count = len(optimizer.param_groups)
        self._functions = [lr_lambda] * count if callable(lr_lambda) else list(lr_lambda)
        if len(self._functions) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self._functions)}")
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, place: int) -> float:
        return self._functions[place](epoch)


class StepLR(LRScheduler):
    """Times gamma every step_size epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, place: int) -> float:
        return self.gamma ** (epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Times gamma at each milestone."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, place: int) -> float:
        return self.gamma ** bisect_right(self.milestones, epoch)


class ExponentialLR(LRScheduler):
    """Times gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, place: int) -> float:
        return self.gamma**epoch


class LinearLR(LRScheduler):
    """From one factor to another in a straight line."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, place: int) -> float:
        way = min(epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * way


class ConstantLR(LRScheduler):
    """A factor for the first epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.first_factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, place: int) -> float:
        return self.first_factor if epoch < self.total_iters else 1.0


class PolynomialLR(LRScheduler):
    """Down to 0 by a power of the epochs that are left."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, place: int) -> float:
        return float((1 - min(epoch, self.total_iters) / self.total_iters) ** self.power)


class CosineAnnealingLR(LRScheduler):
    """Down to eta_min along a cosine of half-period T_max (Loshchilov and Hutter 2017)."""

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        way = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (lr - self.eta_min) * way for lr in self.base_lrs]


class ReduceLROnPlateau:
    """Times factor when a figure has not become better for more than `patience` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.min_lr, self.eps = cooldown, min_lr, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0

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

    def _better(self, current: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        margin = self.threshold
        if self.threshold_mode == "rel" and math.isfinite(self.best):
            margin = self.threshold * self.best * sign
            return sign * current > sign * (self.best + margin)
        return sign * current > sign * self.best + margin

    def _reduce(self) -> None:
        for group in self.optimizer.param_groups:
            lower = max(group["lr"] * self.factor, self.min_lr)
            if group["lr"] - lower > self.eps:
                group["lr"] = lower

    def get_last_lr(self) -> list[float]:
        """The learning rates in force."""
        return [group["lr"] for group in self.optimizer.param_groups]


__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "StepLR",
]
