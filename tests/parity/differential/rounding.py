"""Whether numbers that differ may: a program on torch, with noise of rounding's size added.

After a step that cancels, or jumps, the last digits of its operands decide. If a little noise on
torch's own run makes the same numbers as different, they say nothing about gradwire. Nor does the
sign of a zero where torch itself has now one and now the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from tests.parity.differential.observe import (
    Seen,
    Sight,
    Sizes,
    apart,
    changes,
    exactness,
    observed,
)
from tests.parity.differential.run import (
    RESULT,
    Found,
    Variables,
    differing,
    execute,
    flat,
    numbers,
    runnable,
)
from tests.parity.differential.step import Program, Step
from tests.parity.differential.world import floating

_RUNS = 6
_NOISE = 4
"""Ulps, units in the last place, that noise may add to a number: what a library's own rounding of
one op may do. Everything farther apart has to come of the program, which the runs measure.
"""
_MARGIN = 32
"""How much farther than its farthest twin a number may be: noise is added to results of steps, and
not within a walk, and nine twins do not find the worst case.
"""
_ANY_ZERO = ("matmul", "mm", "mv", "dot", "amax", "amin", "max", "min", "maximum", "minimum")
"""Ops of which torch promises no sign of a zero: it depends on how many elements are taken at once,
and is another one for the last few.
"""
Way = Callable[[Step, torch.Tensor], torch.Tensor]
"""How numbers that a step made are changed in their last digits, or zeros in their sign."""


def explained(program: Program, found: Found) -> bool:
    """Whether all that differs after the program differs as much between its twins on torch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clean = _run(program, None)
        ways: list[Way] = [_noise(seed) for seed in range(_RUNS)]
        ways += [_scaled(1), _scaled(-1), _rounded, _zeros_turned]
        twins = [_run(program, way) for way in ways]
    if found.differences[0].startswith(RESULT):
        if not all(map(numbers, found.given)):
            return False
        farthest = max(float(np.max(_far(clean[1], twin[1]))) for twin in twins)
        return not differing(*found.given, exactness(found.seen[0]), _MARGIN * farthest)
    if not changes(*found.seen):  # an error that only one raised, or left something changed
        return False
    return not changes(*found.seen, _spread(clean[0], [twin[0] for twin in twins]))


def _far(value: Any, other: Any) -> np.ndarray:
    """How far apart two plain results are; infinitely where they are of two shapes."""
    pair = flat(value), flat(other)
    return apart(*pair) if pair[0].shape == pair[1].shape else np.array([np.inf])


def _spread(clean: dict[str, Sight], twins: list[dict[str, Sight]]) -> Sizes:
    """How far from the program's numbers its twins' are, with the margin."""
    found: dict[str, np.ndarray] = {}
    for twin in twins:
        for name, seen in clean.items():
            other = twin.get(name)
            if not isinstance(seen, Seen) or not isinstance(other, Seen):
                continue
            for where, a, b in ((name, seen, other), (f"{name}.grad", seen.grad, other.grad)):
                if a is not None and b is not None and a.values.shape == b.values.shape:
                    far = _MARGIN * apart(a.values, b.values)
                    found[where] = np.maximum(found[where], far) if where in found else far
    return found


def _noise(seed: int) -> Way:
    """Factors of about 1, an own one for each number."""
    source = torch.Generator().manual_seed(seed)

    def noisy(_: Step, x: torch.Tensor) -> torch.Tensor:
        step = _NOISE * torch.finfo(x.dtype).eps
        return x * (1 + step * (2 * torch.rand(x.shape, generator=source) - 1)).to(x.dtype)

    return noisy


def _scaled(sign: int) -> Way:
    """All numbers a little farther from 0, or all nearer: what lies at a jump crosses it."""

    def scaled(_: Step, x: torch.Tensor) -> torch.Tensor:
        return x * (1 + sign * _NOISE * torch.finfo(x.dtype).eps)

    return scaled


def _rounded(_: Step, x: torch.Tensor) -> torch.Tensor:
    """A few last digits fewer: numbers that differ by rounding alone are equal then."""
    exponent = torch.frexp(x.abs().double())[1]
    least = torch.ldexp(torch.tensor(2 * _NOISE * torch.finfo(x.dtype).eps).double(), exponent)
    if x.is_complex():
        parts = (torch.round(part.double() / least) * least for part in (x.real, x.imag))
        return torch.complex(*parts).to(x.dtype)
    return (torch.round(x.double() / least) * least).to(x.dtype)


def _zeros_turned(step: Step, x: torch.Tensor) -> torch.Tensor:
    """Zeros with the other sign, where torch promises none."""
    return torch.where(x == 0, -x, x) if step.name in _ANY_ZERO else x


def _run(program: Program, noise: Way | None) -> tuple[dict[str, Sight], Any]:
    """What torch shows after the program, and what its last step gave."""
    variables: Variables = {}
    given = None
    for step in program:
        if not runnable(variables, step):
            continue
        given = execute(torch, variables, step, lambda: None).given
        if noise is not None:
            for name in step.out:
                _disturb(variables.get(name), step, noise)
    return observed(variables), given


def _disturb(x: Any, step: Step, noise: Way) -> None:
    """Change new numbers in their last digits, behind autograd's back."""
    if not isinstance(x, torch.Tensor) or not floating(x) or x._is_view():
        return
    if torch._debug_has_internal_overlap(x):  # a gradient that a hook has expanded
        return
    if not x._is_zerotensor() and not x.is_inference() and x._version == 0:
        x.data.copy_(noise(step, x.data))
