"""What torch.func asks of a custom function that is used inside of its transforms."""

from __future__ import annotations

from typing import Any

from gradwire.trace import Trace, innermost
from gradwire_engine.errors import error

VMAP, FORWARD, REVERSE = "vmap", "forward mode", "reverse mode"
"""Kinds of transforms; the functions of autograd.functional are none of them."""


def check_transformable(name: str, separate: bool, generated: bool, vmap: bool, jvp: bool) -> None:
    """Refuse a function that lacks what the transforms around it ask for, as torch does.

    separate: whether it has a setup_context. generated, vmap: generate_vmap_rule, and a vmap of its
    own. jvp: whether it has one.
    """
    around = _around()
    if around and not separate:
        raise _lacking(
            f"{name}: to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
            "jacrev, …), it must override the setup_context staticmethod",
            "write forward(*args) and setup_context(ctx, inputs, output)",
        )
    if VMAP in around and generated is vmap:
        raise _lacking(
            f"{name} is used under vmap, and has "
            + (
                "both generate_vmap_rule=True and a vmap staticmethod" if vmap else "no rule for it"
            ),
            "set generate_vmap_rule = True, or write the vmap staticmethod",
        )
    if FORWARD in around and not jvp:
        raise _lacking(
            f"{name}: you must implement the jvp function for custom autograd.Function to use it "
            "with forward mode AD",
            "write jvp(ctx, *tangents)",
            NotImplementedError,
        )


def _around() -> set[str]:
    """The kinds of all transforms that are under way."""
    found: set[str] = set()
    place: Any = innermost()
    while isinstance(place, Trace):
        found.update(place.transforms)
        place = place.outer
    return found


def _lacking(detail: str, hint: str, raised: type[Exception] = RuntimeError) -> Exception:
    return error("invalid_argument", detail, hint, raised=raised)


__all__ = ["FORWARD", "REVERSE", "VMAP", "check_transformable"]
