"""Whether numbers that differ may: a program on torch, with noise of rounding's size added.

After a step that cancels, or jumps, the last digits of its operands decide. If a little noise on
torch's own run makes the same numbers as different, they say nothing about gradwire. Nor does the
sign of a zero where torch itself has now one and now the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from tests.parity.differential.kinds.registry import words
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
from tests.parity.differential.step import WALKS, Given, Program, Step, references, replaced
from tests.parity.differential.undefined import writes
from tests.parity.differential.world import floating

_RUNS = 12
_NOISE = 4
"""Ulps, units in the last place, that noise may add to a number: what a library's own rounding of
one op may do. Everything farther apart has to come of the program, which the runs measure.
"""
_MARGIN = 32
"""How much farther than its farthest twin a number may be: noise is added to results of steps, and
not within a walk, and fifteen twins do not find the worst case.
"""
_ANY_ZERO = words(
    "matmul mm mv dot amax amin max min maximum minimum fmax fmin clamp clamp_min clamp_max "
    "softshrink"
)
"""Ops of which torch promises no sign of a zero: it depends on how many elements are taken at once,
and is another one for the last few. C leaves that of fmax and fmin open.
"""
_WITHIN = {
    "gelu": 0.0, "ndtr": 1.0, "cross": 0.0, "addcdiv": 0.0, "addcmul": 0.0,
    "logaddexp": 0.0, "logaddexp2": 0.0,
}  # fmt: skip
"""Ops that cancel within: their result is rounded as their operand is, and as this number.

gelu and ndtr add 1 to an error function, which torch works out to seven digits in float32. cross
takes one product off another, which torch rounds once for both: of equal ones something is left.
addcdiv and addcmul may add what is as large as their operand, and of the other sign; so does the
logarithm of a sum of two powers that are equal to their larger exponent.
"""
_QUOTIENTS = words("div true_divide truediv reciprocal addcdiv itruediv")
"""Ops of complex numbers after which a part that is 0 may as well be what rounding leaves."""
_NINE_DIGITS = words("lgamma digamma mvlgamma")
"""Ops whose second derivatives torch computes to nine digits (docs/adr/extremes.md)."""
_COARSE = 2.0**-35
"""What that comes to: with the margin, 1e-9."""
Way = Callable[[Step, torch.Tensor, torch.Tensor], torch.Tensor]
"""How numbers that a step made are changed in their last digits, or zeros in their sign.

The last operand says what is rounded with the numbers: their own sizes, or larger ones.
"""


def explained(program: Program, found: Found) -> bool:
    """Whether all that differs after the program differs as much between its twins on torch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clean = _run(program, None)
        ways: list[Way] = [noise(seed) for seed in range(_RUNS)]
        ways += [_scaled(1), _scaled(-1), _rounded, _zeros_turned]
        ways += [_nine_digits] * any(_name(step) in _NINE_DIGITS for step in program)
        twins = [_run(program, way) for way in ways]
    if any(_agrees(twin, found) for twin in twins):  # also of shapes that elements decide
        return True
    if found.differences[0].startswith(RESULT):
        if not all(map(numbers, found.given)):
            return False
        farthest = max(float(np.max(_far(clean[1], twin[1]))) for twin in twins)
        return not differing(*found.given, exactness(found.seen[0]), _MARGIN * farthest)
    if not changes(*found.seen):  # an error that only one raised, or left something changed
        return False
    return not changes(*found.seen, _spread(clean[0], [twin[0] for twin in twins]))


def _agrees(twin: tuple[dict[str, Sight], Any], found: Found) -> bool:
    """Whether torch's own run with noise shows, after all, what was shown here."""
    if found.differences[0].startswith(RESULT):
        return not differing(twin[1], found.given[1], exactness(twin[0]))
    return bool(changes(*found.seen)) and not changes(twin[0], found.seen[1])


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


def noise(seed: int) -> Way:
    """Factors of about 1, an own one for each number."""
    source = torch.Generator().manual_seed(seed)

    def drawn(x: torch.Tensor) -> torch.Tensor:
        return 2 * torch.rand(x.shape, dtype=torch.float64, generator=source) - 1

    def noisy(step: Step, x: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        ulps = _NOISE * torch.finfo(x.dtype).eps
        if x.is_complex() and _name(step) in _QUOTIENTS:
            return x + (ulps * size * torch.complex(drawn(x), drawn(x))).to(x.dtype)
        beside = (size - x.abs()) * ulps * drawn(x)
        factor = (1 + ulps * drawn(x)).to(x.dtype)  # float64, as float32 adds nothing to 1
        return x * factor + beside.to(x.dtype)

    return noisy


def _scaled(sign: int) -> Way:
    """All numbers a little farther from 0, or all nearer: what lies at a jump crosses it."""

    def scaled(_: Step, x: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        return x * (1 + sign * _NOISE * torch.finfo(x.dtype).eps)

    return scaled


def _rounded(_: Step, x: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
    """A few last digits fewer: numbers that differ by rounding alone are equal then, or 0."""
    exponent = torch.frexp(size.double())[1]
    least = torch.ldexp(torch.tensor(2 * _NOISE * torch.finfo(x.dtype).eps).double(), exponent)
    if x.is_complex():
        parts = (torch.round(part.double() / least) * least for part in (x.real, x.imag))
        return torch.complex(*parts).to(x.dtype)
    return (torch.round(x.double() / least) * least).to(x.dtype)


def _zeros_turned(step: Step, x: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
    """Zeros with the other sign, where torch promises none."""
    return torch.where(x == 0, -x, x) if _name(step) in _ANY_ZERO else x


def _nine_digits(step: Step, x: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
    """What a walk found through the derivative of digamma, as torch has it."""
    return x * (1 + _COARSE) if step.kind in WALKS else x


_OF_RESULTS = (None, _zeros_turned, _nine_digits)
"""Ways that are about what some ops make of their operands, whatever those are."""


def _name(step: Step) -> str:
    """What a step calls, without where that lies, in place or not."""
    return step.name.rpartition(".")[2].rstrip("_")


def _run(program: Program, way: Way | None) -> tuple[dict[str, Sight], Any]:
    """What torch shows after the program, and what its last step gave."""
    variables: Variables = {}
    given = None
    for step in program:
        if not runnable(variables, step):
            continue
        done = step if way in _OF_RESULTS else _with_operands_disturbed(step, way)
        given = execute(torch, variables, done, lambda: None).given
        if way is not None:
            _disturb_all(variables, step, way)
    return observed(variables), given


def _with_operands_disturbed(step: Step, way: Way) -> Step:
    """The step with the tensors that are made for it alone changed in their last digits.

    Weights, limits, cotangents: results of steps are changed once they are made, these never would
    be. What rounding leaves of the product of two of them, as in layer_norm of one element, where
    the same number is taken off itself in two ways, would look as if it were exact.
    """

    def disturbed(value: Any) -> Any:
        if not isinstance(value, Given):
            return value
        x = torch.tensor(value.values, dtype=getattr(torch, value.dtype))
        return replace(value, values=way(step, x, x.abs()).tolist()) if floating(x) else value

    kwargs = tuple((name, replaced(value, disturbed)) for name, value in step.kwargs)
    return replace(step, args=replaced(step.args, disturbed), kwargs=kwargs)


def _disturb_all(variables: Variables, step: Step, way: Way) -> None:
    """Change what a step made or wrote in its last digits, behind autograd's back."""
    operand = variables.get(next(references(step), ""))
    for name in step.out:
        x = variables.get(name)
        if _may_be_disturbed(x) and not x._is_view() and x._version == 0:
            x.data.copy_(way(step, x.data, _size(step, x.data, operand)))
    if writes(step) and _may_be_disturbed(operand):
        operand.data.copy_(way(step, operand.data, operand.data.abs()))
    if way is _nine_digits and step.kind in WALKS:
        for grad in map(_gradient, variables.values()):
            if _may_be_disturbed(grad):
                grad.data.copy_(way(step, grad.data, grad.data.abs()))


def _gradient(x: Any) -> Any:
    try:
        return x.grad if isinstance(x, torch.Tensor) else None
    except RuntimeError:  # a view that may not be used any more
        return None


def _may_be_disturbed(x: Any) -> bool:
    if not isinstance(x, torch.Tensor) or not floating(x):
        return False
    if torch._debug_has_internal_overlap(x):  # a gradient that a hook has expanded
        return False
    return not x._is_zerotensor() and not x.is_inference()


def _size(step: Step, x: torch.Tensor, operand: Any) -> torch.Tensor:
    """What rounding within a step is relative to: its result, and of some what it cancelled of."""
    name = _name(step)
    sizes = x.abs()
    alike = isinstance(operand, torch.Tensor) and operand.shape == x.shape
    if name not in _WITHIN or not alike or operand.dtype == torch.bool:
        return sizes
    return torch.maximum(sizes, operand.detach().abs().to(sizes.dtype)).clamp_min(_WITHIN[name])
