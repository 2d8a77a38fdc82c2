"""Many functions: every way to their derivatives against torch's plain one."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from tests.parity.higher_order.function import Function, drawn
from tests.parity.higher_order.ways import QUANTITIES, At, Way, listed
from tests.parity.workers import Lost, Saying, nowhere

import gradwire

RELATIVE = 1e-9
"""To the largest element of a quantity."""
LEAST = 1e-3
"""The largest element counts as no smaller: what is 0 is told from rounding of terms about 1."""


@dataclass
class Tally:
    """What came up in some functions: kinds of steps, ways, failures."""

    functions: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    ways: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count what another one counted."""
        self.functions += other.functions
        self.kinds += other.kinds
        self.ways += other.ways
        self.failures += other.failures

    def summary(self) -> str:
        """All counts, in words."""
        least = ", ".join(f"{kind} {n}" for kind, n in self.kinds.most_common()[-5:])
        return (
            f"{self.functions} functions, {sum(self.ways.values())} derivatives in "
            f"{len(self.ways)} ways; {len(self.kinds)} kinds of steps, the rarest {least}\n"
            f"{len(self.failures)} functions differed"
        )


def one(seed: int, url: str | None = None, at: Saying = nowhere) -> Tally:
    """Draw the function of a seed and try all ways, embedded or at a server."""
    function = drawn(seed)
    tally = Tally(1, Counter({step.kind for step in function.steps}))
    differing = list(_differing(function, url, tally.ways, at=at))
    if differing:
        quantity, way, said = differing[0]
        short = _shortest(function, quantity, way, url)
        more = "".join(f"\n  also: {q}: {w}" for q, w, _ in differing[1:])
        tally.failures.append(f"seed {seed}, {quantity}: {way}\n{said}{more}\n{short}")
    return tally


def lost(found: Lost) -> Tally:
    """The tally of a function that ended its process, or the tester: it differed."""
    said = f"seed {found.seed}: {found.how} in {found.whose}, {found.what}"
    return Tally(1, failures=[said])


def counted(seeds: Iterable[int], url: str | None = None) -> Tally:
    """The tally of the functions of some seeds."""
    whole = Tally()
    for seed in seeds:
        whole.add(one(seed, url))
    return whole


def seeds_from(seed: int, count: int) -> range:
    """The functions of a run: those that follow each other from its seed."""
    return range(seed * 1_000_000, seed * 1_000_000 + count)


def _differing(
    function: Function,
    url: str | None,
    ways: Counter[str],
    only: tuple[str, str] | None = None,
    at: Saying = nowhere,
) -> Iterator[tuple[str, str, str]]:
    """Quantity, way and what is wrong, of all or one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client, theirs = gradwire.connect(url), At(torch, function, torch.from_numpy)
        for quantity, (plain, found) in QUANTITIES.items():
            if only is None or only[0] == quantity:
                at("torch", quantity)
                expected = _numbers(plain(theirs))
                for way, run in found.items():
                    at("gradwire", f"{quantity}: {way}")
                    ways[f"{quantity}: {way}"] += 1
                    with client.session():  # of its own: a failed one may have lost tensors
                        said = _compared(expected, run, function)
                    if said and only in (None, (quantity, way)):
                        yield quantity, way, said


def _compared(expected: Sequence[np.ndarray], run: Way, function: Function) -> str:
    try:
        actual = _numbers(run(At(gradwire, function, gradwire.from_numpy)))
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    if [a.shape for a in actual] != [e.shape for e in expected]:
        return f"shapes {[e.shape for e in expected]} became {[a.shape for a in actual]}"
    largest = max((np.abs(e).max(initial=0) for e in expected), default=0)
    apart = max(
        (np.abs(e - a).max(initial=0) for e, a in zip(expected, actual, strict=True)), default=0
    )
    if apart <= RELATIVE * max(largest, LEAST):
        return ""
    return f"{apart:.3g} apart, of {largest:.3g}:\n{expected}\nbecame\n{actual}"


def _numbers(value: Any) -> list[np.ndarray]:
    return [np.array(tensor.detach().numpy()) for tensor in listed(value)]


def _shortest(function: Function, quantity: str, way: str, url: str | None) -> Function:
    """The function cut off where this way fails first."""
    for short in function.shorter():
        if next(_differing(short, url, Counter(), (quantity, way)), None):
            return short
    return function
