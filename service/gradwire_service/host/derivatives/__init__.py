"""Derivatives of a program at given inputs: what the transforms of `api.md` compute.

`derive(name, ask)` gives the outputs and the derivative's parts, by input, by output, or by both.
"""

from __future__ import annotations

from collections.abc import Callable

from gradwire_service.host.derivatives.ask import Ask, Found, Wanted, listed
from gradwire_service.host.derivatives.checks import check
from gradwire_service.host.derivatives.products import jvp, value_and_grad, vjp
from gradwire_service.host.derivatives.second import hessian, product
from gradwire_service.host.derivatives.whole import jacobian

__all__ = ["PARTS", "Ask", "Found", "Wanted", "check", "derive", "listed"]

PARTS = {"value_and_grad": "grads"}
"""What the derivative is called in the reply, where not as the transform."""

_DERIVE: dict[str, Callable[[Ask], Found]] = {
    "value_and_grad": value_and_grad,
    "vjp": vjp,
    "jvp": jvp,
    "hvp": lambda ask: product(ask, "hvp"),
    "vhp": lambda ask: product(ask, "vhp"),
    "jacobian": jacobian,
    "hessian": hessian,
}


def derive(name: str, ask: Ask) -> Found:
    """The outputs of a program and the derivative called `name`."""
    return _DERIVE[name](ask)
