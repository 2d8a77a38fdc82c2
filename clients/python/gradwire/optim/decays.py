"""Learning rates that go down, or up to where they were meant to be, by a rule of the epoch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from gradwire.optim.groups import Group, Optimizer
from gradwire.optim.rates import LRScheduler

Factor = Callable[[int], float]


class LambdaLR(LRScheduler):
    """The first rate times what a function of the epoch gives, one for all groups or one each."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1
    ) -> None:
        count = len(optimizer.param_groups)
        self._functions = [lr_lambda] * count if callable(lr_lambda) else list(lr_lambda)
        if len(self._functions) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self._functions)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        pairs = zip(self.base_lrs, self._functions, strict=True)
        return [float(base * function(self.last_epoch)) for base, function in pairs]


class MultiplicativeLR(LambdaLR):
    """The last rate times what a function of the epoch gives."""

    def get_lr(self) -> list[float]:
        pairs = zip(self.optimizer.param_groups, self._functions, strict=True)
        if self.beginning:
            return [float(group["lr"]) for group, _ in pairs]
        return [float(group["lr"] * function(self.last_epoch)) for group, function in pairs]


class StepLR(LRScheduler):
    """Times gamma every step_size epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, group: Group, base: float, epoch: int) -> float:
        due = epoch and epoch % self.step_size == 0
        return float(group["lr"] * self.gamma if due else group["lr"])

    def closed(self, base: float, epoch: int) -> float:
        return float(base * self.gamma ** (epoch // self.step_size))


class MultiStepLR(LRScheduler):
    """Times gamma at each milestone, and as often as it is named."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, group: Group, base: float, epoch: int) -> float:
        return float(group["lr"] * self.gamma ** self.milestones[epoch])

    def closed(self, base: float, epoch: int) -> float:
        past = sum(count for milestone, count in self.milestones.items() if milestone <= epoch)
        return float(base * self.gamma**past)


class ExponentialLR(LRScheduler):
    """Times gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, group: Group, base: float, epoch: int) -> float:
        return float(group["lr"] if self.beginning else group["lr"] * self.gamma)

    def closed(self, base: float, epoch: int) -> float:
        return float(base * self.gamma**epoch)


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
        if not 0 < start_factor <= 1:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, group: Group, base: float, epoch: int) -> float:
        if epoch == 0:
            return float(group["lr"] * self.start_factor)
        if self.beginning or epoch > self.total_iters:
            return float(group["lr"])
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (epoch - 1) * rise
        return float(group["lr"] * (1 + rise / before))

    def closed(self, base: float, epoch: int) -> float:
        way = min(epoch, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * way)


class ConstantLR(LRScheduler):
    """A factor for the first epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, group: Group, base: float, epoch: int) -> float:
        if epoch == 0:
            return float(group["lr"] * self.factor)
        return float(group["lr"] * (1 / self.factor if epoch == self.total_iters else 1))

    def closed(self, base: float, epoch: int) -> float:
        return base * (self.factor if epoch < self.total_iters else 1.0)


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

    def rate(self, group: Group, base: float, epoch: int) -> float:
        if self.beginning or epoch > self.total_iters:
            return float(group["lr"])
        left = (1 - epoch / self.total_iters) / (1 - (epoch - 1) / self.total_iters)
        return float(group["lr"] * left**self.power)

    def closed(self, base: float, epoch: int) -> float:
        return float(base * (1 - min(epoch, self.total_iters) / self.total_iters) ** self.power)


class CosineAnnealingLR(LRScheduler):
    """Down to eta_min along a cosine of half-period T_max (Loshchilov and Hutter 2017)."""

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, group: Group, base: float, epoch: int) -> float:
        lr = float(group["lr"])
        if self.beginning:
            return lr
        if self._step_count == 1:
            return self.closed(base, epoch)
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            return lr + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
        return self._way(epoch) / self._way(epoch - 1) * (lr - self.eta_min) + self.eta_min

    def closed(self, base: float, epoch: int) -> float:
        return self.eta_min + (base - self.eta_min) * self._way(epoch) / 2

    def _way(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)


__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "StepLR",
]
