"""Many programs: each run and compared, failing ones shrunk, what came up counted."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from tests.parity.differential.generate import LENGTH, program
from tests.parity.differential.kinds import KINDS
from tests.parity.differential.report import script
from tests.parity.differential.rounding import explained
from tests.parity.differential.run import TORCH, Found, alone, compare
from tests.parity.differential.shrink import shrunk
from tests.parity.differential.step import WALKS, Edge, Program, Step, operands
from tests.parity.workers import Lost, Saying, nowhere

import gradwire

ENOUGH = 1 / 15
"""The share of programs in which each kind of step has to come up: of 3,000 two hundred."""
MANY = 100
"""Programs from which on counts say something."""
MODES = ("in no_grad", "in enable_grad", "in set_grad_enabled", "in inference_mode")
OPTIONS = tuple(
    f"a walk with {name}"
    for name in (
        "retain_graph", "create_graph", "inputs", "allow_unused", "materialize_grads",
        "only_inputs", "is_grads_batched", "grad_outputs", "gradient edges",
    )
)  # fmt: skip
"""What steps are done in, and walks with: counted as kinds of steps are."""


@dataclass
class Tally:
    """What came up in some programs: steps, errors, programs by kind of step, failures.

    crashes: of torch itself, which say nothing of the program; it is not among the programs.
    """

    programs: int = 0
    steps: int = 0
    errors: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count what another one counted."""
        self.programs += other.programs
        self.steps += other.steps
        self.errors += other.errors
        self.kinds += other.kinds
        self.ends += other.ends
        self.failures += other.failures
        self.crashes += other.crashes

    def shortcomings(self) -> list[str]:
        """What the programs had too little of: errors, or kinds of steps."""
        found = []
        if self.errors * 10 < self.steps:
            found.append(f"fewer than a tenth of the steps were errors: {self.errors}")
        least = self.programs * ENOUGH
        wanted = (*KINDS, *MODES, *OPTIONS)
        rare = [f"{kind} in {self.kinds[kind]}" for kind in wanted if self.kinds[kind] < least]
        if rare:
            found.append(f"kinds of steps in fewer than {least:.0f} programs: {', '.join(rare)}")
        return found

    def crashes_too_often(self, of: int) -> bool:
        """Whether torch crashes on so many that it is to be looked at, of a number of programs."""
        return len(self.crashes) * MANY > max(of, MANY)

    def holds(self) -> bool:
        """Whether no program differed, in programs that held enough to say so.

        Of a handful of programs it can't be asked that everything came up.
        """
        if self.failures or self.crashes_too_often(self.programs):
            return False
        return self.programs < MANY or not self.shortcomings()

    def summary(self) -> str:
        """All counts, a line each."""
        share = self.errors / max(self.steps, 1)
        lines = [
            f"{self.programs} programs, {self.steps} steps, {share:.1%} of them errors in torch",
            "ended: " + ", ".join(f"{n} {how}" for how, n in self.ends.most_common()),
            "programs with each kind of step:",
        ]
        lines += [f"  {n:6} {kind}" for kind, n in self.kinds.most_common()]
        lines += self.shortcomings() if self.programs >= MANY else []
        lines += [f"{len(self.crashes)} programs left out:", *self.crashes] if self.crashes else []
        return "\n".join([*lines, f"{len(self.failures)} programs differed"])


def one(seed: int, url: str | None, length: int = LENGTH, at: Saying = nowhere) -> Tally:
    """Make, run and count the program of a seed, embedded or at a server."""
    made = program(seed, length, at)
    found = _run(made, url, at)
    at("the tester", "looking at what differs")
    if found.at is not None and explained(made[: found.at + 1], found):
        found.at, found.ended = None, "where rounding decides"
    tally = Tally(1, len(found.steps), sum(e is not None for _, e in found.steps))
    tally.kinds.update({kind for kind, _ in found.steps})
    done = made[: len(found.steps)]
    tally.kinds.update({f"in {mode}" for step in done for mode in step.modes})
    walks = [step for step in done if step.kind in WALKS]
    tally.kinds.update({f"a walk with {name}" for step in walks for name in _options(step)})
    tally.ends[found.ended] += 1
    if found.at is not None:
        tally.failures.append(described(seed, made, found, url))
    return tally


COTANGENTS = ("gradient", "grad_tensors", "grad_variables")
"""What backward calls grad_outputs, as a method, as a function and as it once did."""


def _options(step: Step) -> set[str]:
    """What a walk was asked besides roots and inputs; an option that is off is not counted."""
    edges = any(isinstance(value, Edge) for value in operands(step))
    named = {k for k, value in step.kwargs if value is not False or k == "retain_graph"}
    asked = {"grad_outputs" if k in COTANGENTS else k for k in named}
    return asked | ({"gradient edges"} if edges else set())


def _run(made: Program, url: str | None, at: Saying = nowhere) -> Found:
    with warnings.catch_warnings(), gradwire.connect(url).session() as session:
        warnings.simplefilter("ignore")
        return compare(made, torch, gradwire, session, at)


def on_torch_alone(seed: int, at: Saying = nowhere) -> None:
    """Make and run the program of a seed on torch only."""
    made = program(seed, at=at)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone(made, torch, at)


def lost(found: Lost, again: Callable[[int], Lost | None]) -> Tally:
    """The tally of a program that ended its process, or the tester.

    It is torch's doing, and counts as no program, only if torch was at work when the process died
    and torch alone dies at the same place, which again is asked; else the program differed.
    """
    said = f"{found.how} in {found.whose}, {found.what}"
    if found.died and found.whose == TORCH:
        alone = again(found.seed)
        if alone is not None and alone.died and alone.what == found.what:
            return Tally(crashes=[f"torch crashed on program seed {found.seed}: {said}"])
        otherwise = "runs to its end" if alone is None else f"ends in {alone.what}: {alone.how}"
        said += f"; torch alone {otherwise}"
    return Tally(1, failures=[f"seed {found.seed}: {said}"])


def described(seed: int, made: Program, found: Found, url: str | None) -> str:
    """A failing program, cut short, with what differs."""
    assert found.at is not None
    way = _way(made[found.at].kind, found)

    def fails(tried: Program) -> int | None:
        again = _run(tried, url)
        if again.at is None or _way(tried[again.at].kind, again) != way:
            return None
        return None if explained(tried[: again.at + 1], again) else again.at

    short = shrunk(made, fails)
    said = "\n".join(f"# {line}" for d in _run(short, url).differences for line in d.splitlines())
    return f"seed {seed}, step {found.at}:\n\n{script(short)}\n{said}"


def _way(kind: str, found: Found) -> tuple[str, str]:
    """How a program fails: its kind of step and what differs, without names and numbers."""
    first = found.differences[0]
    fact = first.partition(":")[0].lstrip("t0123456789") if first.startswith("t") else first
    return kind, fact[:60]


def counted(seeds: Iterable[int], url: str | None = None) -> Tally:
    """The tally of the programs of some seeds."""
    whole = Tally()
    for seed in seeds:
        whole.add(one(seed, url))
    return whole


def seeds_from(seed: int, count: int) -> range:
    """The programs of a run: those that follow each other from its seed."""
    return range(seed * 1_000_000, seed * 1_000_000 + count)


__all__: list[Any] = [
    "Tally", "counted", "described", "lost", "on_torch_alone", "one", "seeds_from"
]  # fmt: skip
