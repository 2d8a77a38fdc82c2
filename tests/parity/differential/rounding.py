"""Whether numbers that differ may: a program on torch, with noise of rounding's size added.

After a step that cancels, or jumps, the last digits of its operands decide. If a little noise on
torch's own run makes its numbers as different, they say nothing about gradwire.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from tests.parity.differential.observe import changes, observed
from tests.parity.differential.run import Variables, execute, runnable
from tests.parity.differential.step import Program
from tests.parity.differential.world import floating

_RUNS = 6
_NOISE = 4
"""Ulps, units in the last place, that noise may add to a number: what a library's own rounding of
one op may do. Everything farther apart has to come of the program, which the runs measure.
"""
Way = Callable[[torch.Tensor], torch.Tensor]
"""How numbers are changed in their last digits."""


def ill_conditioned(program: Program) -> bool:
    """Whether noise changes what torch shows after the program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clean = observed(_run(program, None))
        ways: list[Way] = [_noise(seed) for seed in range(_RUNS)]
        ways += [_scaled(1), _scaled(-1), _rounded]
        found = (observed(_run(program, way)) for way in ways)
        return any(changes(clean, other) for other in found)


def _noise(seed: int) -> Way:
    """Factors of about 1, an own one for each number."""
    source = torch.Generator().manual_seed(seed)

    def noisy(x: torch.Tensor) -> torch.Tensor:
        step = _NOISE * torch.finfo(x.dtype).eps
        return x * (1 + step * (2 * torch.rand(x.shape, generator=source) - 1)).to(x.dtype)

    return noisy


def _scaled(sign: int) -> Way:
    """All numbers a little farther from 0, or all nearer: what lies at a jump crosses it."""

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * (1 + sign * _NOISE * torch.finfo(x.dtype).eps)

    return scaled


def _rounded(x: torch.Tensor) -> torch.Tensor:
    """A few last digits fewer: numbers that differ by rounding alone are equal then."""
    exponent = torch.frexp(x.abs().double())[1]
    least = torch.ldexp(torch.tensor(2 * _NOISE * torch.finfo(x.dtype).eps).double(), exponent)
    if x.is_complex():
        parts = (torch.round(part.double() / least) * least for part in (x.real, x.imag))
        return torch.complex(*parts).to(x.dtype)
    return (torch.round(x.double() / least) * least).to(x.dtype)


def _run(program: Program, noise: Way | None) -> Variables:
    variables: Variables = {}
    for step in program:
        if not runnable(variables, step):
            continue
        execute(torch, variables, step, lambda: None)
        if noise is not None:
            for name in step.out:
                _disturb(variables.get(name), noise)
    return variables


def _disturb(x: Any, noise: Way) -> None:
    """Change new numbers in their last digits, behind autograd's back."""
    if not isinstance(x, torch.Tensor) or not floating(x) or x._is_view():
        return
    if torch._debug_has_internal_overlap(x):  # a gradient that a hook has expanded
        return
    if not x._is_zerotensor() and not x.is_inference() and x._version == 0:
        x.data.copy_(noise(x.data))
