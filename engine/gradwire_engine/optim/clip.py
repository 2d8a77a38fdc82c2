"""Gradients scaled so that they are not too large together."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import error
from gradwire_engine.inplace import call
from gradwire_engine.mode import no_grad
from gradwire_engine.tensor import Tensor


def clip_grad_norm(
    params: Sequence[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale the gradients in place so that their norm as one vector is at most max_norm.

    Gives the norm before: a scalar, of the first gradient's dtype. Parameters without a gradient
    are left out.
    """
    norm, stack = resolve("linalg.vector_norm"), resolve("stack")
    with no_grad():
        gradients = [x.grad for x in params if x.grad is not None]
        if not gradients:
            zero: Tensor = resolve("zeros")(())
            return zero
        total: Tensor = norm(stack([norm(g, norm_type) for g in gradients]), norm_type)
        size = float(total.numpy())
        if error_if_nonfinite and not size < inf:
            raise error(
                "numerical_error",
                f"the total norm of order {norm_type} of the gradients is {size}: they can't be "
                "clipped",
                "look for what made them infinite; or leave error_if_nonfinite away",
            )
        scale: Any = resolve("clamp")(max_norm / resolve("add")(total, 1e-6), max=1.0)
        for g in gradients:
            call("mul_", [g, scale], {})
        return total
