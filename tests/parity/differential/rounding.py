"""Whether numbers that differ may: a program on torch, with noise of rounding's size added.

After a step that cancels, or jumps, the last digits of its operands decide. If a little noise on
torch's own run makes its numbers as different, they say nothing about gradwire.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from tests.parity.differential.observe import changes, observed
from tests.parity.differential.run import Variables, execute, runnable
from tests.parity.differential.step import Program

_RUNS = 3


def ill_conditioned(program: Program) -> bool:
    """Whether noise changes what torch shows after the program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clean = observed(_run(program, None))
        noisy = (_run(program, torch.Generator().manual_seed(seed)) for seed in range(_RUNS))
        return any(changes(clean, observed(found)) for found in noisy)


def _run(program: Program, noise: torch.Generator | None) -> Variables:
    variables: Variables = {}
    for step in program:
        if not runnable(variables, step):
            continue
        execute(torch, variables, step, lambda: None)
        if noise is not None and step.kind != "leaf":
            for name in step.out:
                _disturb(variables.get(name), noise)
    return variables


def _disturb(x: Any, noise: torch.Generator) -> None:
    """Change new numbers in their last digits, behind autograd's back."""
    if not isinstance(x, torch.Tensor) or not x.is_floating_point() or x._is_view():
        return
    if not x.is_inference() and x._version == 0:
        size = 4 * torch.finfo(x.dtype).eps
        x.data.mul_(1 + size * (2 * torch.rand(x.shape, generator=noise).to(x.dtype) - 1))
