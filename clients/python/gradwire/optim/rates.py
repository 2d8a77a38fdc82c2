"""Learning rates that change from epoch to epoch: what all schedulers have in common.

Each goes on from the rates that are in force, as torch's do, so several may be used one behind the
other, and a rate that the program changed stays changed.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from gradwire.optim.groups import Group, Optimizer


class Scheduled:
    """What all that schedules has. _left_out: attributes that are no part of its state."""

    optimizer: Optimizer
    _last_lr: list[float]
    _left_out: tuple[str, ...] = ("optimizer",)

    def _note_rates(self) -> None:
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """The learning rates in force since the last step."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict takes: numbers, no functions."""
        return {k: v for k, v in vars(self).items() if k not in self._left_out}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where another one was."""
        vars(self).update(state_dict)


class LRScheduler(Scheduled):
    """Sets the lr of each group. base_lrs: the first ones; last_epoch: how many steps were taken.

    A subclass says `rate`; one that knows the rate of any epoch says `closed` too.
    beginning: whether the first rates are being set, where one that goes on changes nothing.
    """

    beginning = False
    _left_out = ("optimizer", "beginning", "_functions")

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        for place, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    "param 'initial_lr' is not specified in param_groups"
                    f"[{place}] when resuming scheduler with last_epoch >= 0"
                )
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._last_lr = []
        self.begin()

    def begin(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count, self.beginning = 0, True
        self.step()
        self.beginning = False

    def rate(self, group: Group, base: float, epoch: int) -> float:
        """The rate of an epoch, from the one before, which is in the group."""
        raise NotImplementedError

    def closed(self, base: float, epoch: int) -> float | None:
        """The rate of an epoch, whatever came before; None if that isn't known."""
        return None

    def get_lr(self) -> list[float]:
        """The rates of this epoch."""
        pairs = zip(self.optimizer.param_groups, self.base_lrs, strict=True)
        return [float(self.rate(group, base, self.last_epoch)) for group, base in pairs]

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch."""
        if self._step_count == 1 and not self.optimizer.stepped:
            warnings.warn(_TOO_EARLY, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            self.put(self.get_lr())
            return
        self.last_epoch = epoch
        known = [self.closed(base, epoch) for base in self.base_lrs]
        self.put(self.get_lr() if None in known else known)

    def put(self, rates: Sequence[float | None]) -> None:
        """Set these rates."""
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = lr
        self._note_rates()


_TOO_EARLY = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite "
    "order: `optimizer.step()` before `lr_scheduler.step()`; else the first value of the learning "
    "rate schedule is skipped."
)

__all__ = ["LRScheduler", "Scheduled"]
