"""Learning rates that come back: warm restarts, and one cycle (with momentum the other way)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradwire.optim.groups import Group, Optimizer
from gradwire.optim.rates import LRScheduler


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down a cosine of T_0 epochs and up at once, each next one T_mult times as long."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        self.T_i, self.T_cur = T_0, float(last_epoch)
        super().__init__(optimizer, last_epoch)

    def rate(self, group: Group, base: float, epoch: int) -> float:
        way = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return self.eta_min + (base - self.eta_min) * way

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to any, which may lie between two."""
        if epoch is None and self.last_epoch < 0:  # SequentialLR begins it once more
            epoch = 0
        if epoch is None:
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self.T_i, self.T_cur = self.T_0, epoch
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        self.last_epoch = self.last_epoch + 1 if epoch is None else math.floor(epoch)
        self.put(self.get_lr())


class OneCycleLR(LRScheduler):
    """Up to max_lr and down to next to nothing, once (Smith and Topin 2019).

    Its steps are batches: total_steps of them, or epochs times steps_per_epoch.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.total_steps = _steps(total_steps, epochs, steps_per_epoch)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self.cosine, self.cycle_momentum = anneal_strategy == "cos", cycle_momentum
        self._phases = _phases(self.total_steps, pct_start, three_phase)
        if last_epoch == -1:
            self._begin_with(optimizer, max_lr, base_momentum, max_momentum)
            for group in optimizer.param_groups:
                group["initial_lr"] = group["max_lr"] / div_factor
                group["min_lr"] = group["initial_lr"] / final_div_factor
        super().__init__(optimizer, last_epoch)

    def _begin_with(self, optimizer: Optimizer, max_lr: Any, low: Any, high: Any) -> None:
        groups = optimizer.param_groups
        for group, lr, least, most in zip(
            groups, *[_each(groups, v) for v in (max_lr, low, high)], strict=True
        ):
            group["max_lr"] = lr
            if self.cycle_momentum:
                if "momentum" not in group and "betas" not in group:
                    raise ValueError(
                        "optimizer must support momentum or beta1 with `cycle_momentum` option "
                        "enabled"
                    )
                group["base_momentum"], group["max_momentum"] = least, most
                _put_momentum(group, most)

    def get_lr(self) -> list[float]:
        """The rates of this step; sets the momentum too."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The total number of steps is {self.total_steps}"
            )
        place = next((i for i, p in enumerate(self._phases) if step <= p[0]), -1)
        end, rates, momenta = self._phases[place]
        start = self._phases[place - 1][0] if place else 0.0
        way = (step - start) / (end - start)
        found = []
        for group in self.optimizer.param_groups:
            found.append(self._between(group[rates[0]], group[rates[1]], way))
            if self.cycle_momentum:
                _put_momentum(group, self._between(group[momenta[0]], group[momenta[1]], way))
        return found

    def _between(self, start: float, end: float, way: float) -> float:
        if self.cosine:
            return end + (start - end) / 2.0 * (1 + math.cos(math.pi * way))
        return (end - start) * way + start


_Phase = tuple[float, tuple[str, str], tuple[str, str]]


def _phases(total: int, share: float, three: bool) -> list[_Phase]:
    """Each phase's last step, and the group's entries that rates and momenta go between."""
    up: _Phase = (share * total - 1, ("initial_lr", "max_lr"), ("max_momentum", "base_momentum"))
    back = ("base_momentum", "max_momentum")
    if not three:
        return [up, (total - 1, ("max_lr", "min_lr"), back)]
    flat = ("max_momentum", "max_momentum")
    middle: _Phase = (2 * share * total - 2, ("max_lr", "initial_lr"), back)
    return [up, middle, (total - 1, ("initial_lr", "min_lr"), flat)]


def _steps(total: int | None, epochs: int | None, each: int | None) -> int:
    if total is None and (epochs is None or each is None):
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    found = (epochs or 0) * (each or 0) if total is None else total
    if found <= 0 or not isinstance(found, int):
        raise ValueError(f"Expected positive integer total_steps, but got {found}")
    return found


def _each(groups: Sequence[Group], value: Any) -> list[float]:
    if not isinstance(value, list | tuple):
        return [value] * len(groups)
    if len(value) != len(groups):
        raise ValueError(f"expected a value for each of {len(groups)} groups, got {len(value)}")
    return list(value)


def _put_momentum(group: Group, momentum: float) -> None:
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


__all__ = ["CosineAnnealingWarmRestarts", "OneCycleLR"]
