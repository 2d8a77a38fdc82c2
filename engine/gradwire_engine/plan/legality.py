"""What may be done with each kind of step, as a table."""

from __future__ import annotations

from typing import NamedTuple

from gradwire_engine.plan.code import CALL, CONTRACT, FOLD, JOIN, MAP, PRODUCT, VIEW


class Allowed(NamedTuple):
    """fuses: may be part of a region. starts: a region may begin with it. out: takes an array to
    write its result into. folds: its result has fewer elements. aliases: its result is what its
    operand is, seen otherwise.
    """

    fuses: bool
    starts: bool
    out: bool
    folds: bool
    aliases: bool


LEGAL = {
    MAP: Allowed(fuses=True, starts=True, out=True, folds=False, aliases=False),
    FOLD: Allowed(fuses=True, starts=True, out=True, folds=True, aliases=False),
    CONTRACT: Allowed(fuses=True, starts=True, out=True, folds=True, aliases=False),
    VIEW: Allowed(fuses=True, starts=False, out=False, folds=False, aliases=True),
    PRODUCT: Allowed(fuses=False, starts=False, out=True, folds=False, aliases=False),
    JOIN: Allowed(fuses=False, starts=False, out=True, folds=False, aliases=False),
    CALL: Allowed(fuses=False, starts=False, out=False, folds=False, aliases=False),
}
"""For each kind of step what is allowed."""
