"""Where torch's derivative is not that of its own function: docs/adr/wrong-gradients-of-torch.md.

There the values have to be torch's, and the derivatives those that finite differences say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tests.parity.opinfo.sides import Ours, apply, flat, is_tensor

import gradwire

WRONG_IN_TORCH = {
    "as_strided_scatter": "the gradient is that of the part that src replaced",
    "istft": "a window that is padded, or real beside complex numbers, gets no gradient",
}
"""From the name of an op to what is wrong with its derivative."""

WRONG_AT_EDGES = {
    "cdist": "where p is inf NaN counts as 0, which it does in no other norm",
    "polar": "by abs, where that is not above 0: it goes by the direction of the result",
}
WRONG_FAR_OUT = {
    "polar": WRONG_AT_EDGES["polar"],
    "special.log_ndtr": "at -1e20 it is what cancelling leaves, and not 1e20",
}
"""The same, for what the table's samples do not show: at zeros, infinities and large numbers."""

DERIVED = ("gradient", "second")
"""How lines begin that tell of derivatives."""


def excused(
    op: Any, sample: Any, told: list[str], leaves: list[torch.Tensor], make: Callable[..., Any]
) -> bool:
    """Whether it is torch that is wrong: its values are ours, and ours have these derivatives."""
    if op.name not in WRONG_IN_TORCH or not all(line.startswith(DERIVED) for line in told):
        return False
    ours = Ours(sample, make)
    stands = [ours.stand(leaf) for leaf in leaves]

    def run(*values: gradwire.Tensor) -> Any:
        for stand, value in zip(stands, values, strict=True):
            stand.tensor = value
        found = sample.output_process_fn_grad(apply(op, ours))
        return tuple(y.tensor for y in flat(found) if is_tensor(y))

    at = tuple(stand.tensor.detach().clone().requires_grad_() for stand in stands)
    check = gradwire.autograd
    return bool(check.gradcheck(run, at) and check.gradgradcheck(run, at))
