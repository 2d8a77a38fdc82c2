"""What an optimiser is: an update of one parameter, declared once.

An update is a function on raw arrays: `(xp, x, g, state, *, settings…) -> x'`. Its keyword-only
parameters are the settings with torch's defaults, so the signature is the schema; `state` is the
parameter's own, to be written into. Arrays are flat, real, float32 or wider: the optimiser sees
to complex numbers (pairs of real ones, as in torch) and to halves.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, NamedTuple

from gradwire_engine.errors import GradwireError, error

State = dict[str, Any]
"""What an update keeps of a parameter: arrays, and `step`, the number of updates so far."""


class Kind(NamedTuple):
    """A kind of optimiser. settings: its defaults by name. update: None where it needs a closure.

    check: raises for settings that are out of their range.
    """

    name: str
    settings: dict[str, Any]
    update: Callable[..., Any] | None
    check: Callable[[dict[str, Any]], None]
    doc: str


KINDS: dict[str, Kind] = {}
"""Every kind by name; a module enters its own."""


_CALLED = {"lr": "learning rate", "eps": "epsilon value"}
"""Torch's words for settings, where those aren't their name and `value`."""


def optimizer(
    name: str,
    *not_negative: str,
    check: Callable[[dict[str, Any]], None] | None = None,
    closure: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter an update under a name. not_negative: settings that are refused below 0, in this order.

    check: raises for what else is out of its range. closure: it is the whole of a step and asks for
    losses.
    """

    def check_all(settings: dict[str, Any]) -> None:
        for each in not_negative:
            need(settings[each] >= 0, _CALLED.get(each, f"{each} value"), settings[each])
        if check is not None:
            check(settings)

    def enter(update: Callable[..., Any]) -> Callable[..., Any]:
        given = signature(update).parameters.values()
        settings = {p.name: p.default for p in given if p.kind is Parameter.KEYWORD_ONLY}
        KINDS[name] = Kind(
            name, settings, None if closure else update, check_all, update.__doc__ or ""
        )
        return update

    return enter


def refused(detail: str, hint: str, raised: type[Exception] = ValueError) -> GradwireError:
    """What a setting, a parameter or state that doesn't fit is answered."""
    return error("invalid_argument", detail, hint, raised=raised)


def need(fits: bool, what: str, value: Any) -> None:
    """Refuse a setting that is out of its range, in torch's words and by its class."""
    if not fits:
        raise refused(f"Invalid {what}: {value}", "see the optimiser's documentation for the range")
