"""Taking turns: every side is measured in each round, so that what disturbs one disturbs all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

from benchmarks.side import Side, Worker


@dataclass(frozen=True)
class Settings:
    """How long to measure: `rounds` turns of `seconds` for each side, after `warm_up` seconds.

    `scale` shrinks the sizes of cases for a quick look (1 is the real thing).
    """

    rounds: int = 15
    seconds: float = 0.3
    warm_up: float = 1.0
    threads: int = 2
    scale: float = 1.0

    def sized(self, number: int, least: int = 1) -> int:
        """A size of the case, shrunk by `scale`."""
        return max(least, int(number * self.scale))


@dataclass(frozen=True)
class Spread:
    """A median with the quartiles around it, over the rounds."""

    middle: float
    low: float
    high: float

    @staticmethod
    def of(values: list[float]) -> Spread:
        """The spread of one value per round."""
        if len(values) < 2:
            return Spread(values[0], values[0], values[0])
        low, middle, high = quantiles(values, n=4, method="inclusive")
        return Spread(middle, low, high)

    def map(self, change: Callable[[float], float]) -> Spread:
        """The spread of a rising function of the value."""
        return Spread(change(self.middle), change(self.low), change(self.high))


@dataclass(frozen=True)
class Measured:
    """What the rounds of one side gave: a median time per round, in seconds, and all replies.

    `first` is the reply of the warm-up: the only one from a process that held nothing before.
    """

    medians: list[float]
    replies: list[dict[str, Any]]
    first: dict[str, Any]

    @property
    def seconds(self) -> float:
        """The median of the medians."""
        return median(self.medians)

    def over(self, other: Measured) -> Spread:
        """The ratio of the times, round by round."""
        return Spread.of([a / b for a, b in zip(self.medians, other.medians, strict=True)])


class Harness:
    """Runs sides by its settings and tells `tick` what it is at."""

    def __init__(self, settings: Settings, tick: Callable[[str], object] = len) -> None:
        self.settings = settings
        self.tick = tick

    def take_turns(
        self, sides: Mapping[str, Side], *, rounds: int | None = None
    ) -> dict[str, Measured]:
        """Every side in a process of its own, warmed up, then measured in turn."""
        replies: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
        first: dict[str, dict[str, Any]] = {}
        with ExitStack() as stack:
            workers = {}
            for name, side in sides.items():
                self.tick(f"{name}: warming up")
                workers[name] = stack.enter_context(Worker(side))
                first[name] = workers[name].measure(self.settings.warm_up)
            for number in range(rounds or self.settings.rounds):
                order = list(workers) if number % 2 == 0 else list(reversed(workers))
                for name in order:
                    self.tick(f"{name}: round {number + 1}")
                    replies[name].append(workers[name].measure(self.settings.seconds))
        return {n: Measured(_medians(found), found, first[n]) for n, found in replies.items()}


def _medians(replies: list[dict[str, Any]]) -> list[float]:
    return [median(reply["times"]) for reply in replies if reply.get("times")]
