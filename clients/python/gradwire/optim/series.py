"""Several schedulers of one optimizer: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from gradwire.optim.groups import Optimizer
from gradwire.optim.rates import Scheduled


class _Several(Scheduled):
    """What holds schedulers. _schedulers: in order."""

    _left_out = ("optimizer", "_schedulers")

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None) -> None:
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler")
        self.optimizer = optimizer or schedulers[0].optimizer
        if any(scheduler.optimizer is not self.optimizer for scheduler in schedulers):
            raise ValueError(
                f"{type(self).__name__} expects all schedulers to belong to the same optimizer"
            )
        self._schedulers = list(schedulers)
        self._last_lr = []

    def undo(self) -> None:
        """Take the first steps back that all have taken, in each other's way."""
        for scheduler in self._schedulers:
            if isinstance(scheduler, _Several):
                scheduler.undo()
            else:
                scheduler.last_epoch -= 1

    def begin(self) -> None:
        """Set the rates of the first epoch."""
        self.step()

    def step(self) -> None:
        """Go on to the next epoch."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict takes."""
        return super().state_dict() | {"_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where another one was."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_Several):
    """One scheduler up to each milestone, the next one from its epoch 0 on."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[Any],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        super().__init__(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR expects one milestone less than schedulers, got {len(schedulers)} "
                f"schedulers and {len(milestones)} milestones"
            )
        self._milestones, self.last_epoch = list(milestones), last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        self.undo()
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first.begin()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:
        """Go on to the next epoch."""
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[place]
        if place and self._milestones[place - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Several):
    """All of them at each step, each going on from what the one before it set."""

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        super().__init__(schedulers, optimizer)
        self._note_rates()

    def step(self) -> None:
        """Go on to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._note_rates()


__all__ = ["ChainedScheduler", "SequentialLR"]
