"""Steps that run stored programs by a condition, or again and again."""

from __future__ import annotations

from typing import ClassVar

from gradwire_service.host.protocol.calls import CallPart, ProgramId
from gradwire_service.host.protocol.names import LiteralOrName, field, optional

_ID = "p_0f4c2ba1d7e95836a1b2c3d4e5f60718"


class CondStep(CallPart):
    """One of two programs, by a bool."""

    word = "cond"
    literals: ClassVar[tuple[str, ...]] = ("cond", "args")
    cond: LiteralOrName = field("One bool: the name of a tensor, or a literal.", "positive")
    true_fn: ProgramId = field("The program where it is true.", _ID)
    false_fn: ProgramId = field(
        "The program where it is false; it gives results of the same shapes and dtypes.", _ID
    )


class LoopPart(CallPart):
    """What loops share. `args` are the same in every step."""

    literals: ClassVar[tuple[str, ...]] = ("init", "args")
    init: list[LiteralOrName] = field(
        "What goes from step to step, as it is before the first: the program's first inputs. Each "
        "keeps its shape and dtype.",
        ["h"],
        ["h", "c"],
        default_factory=list,
    )


class ScanStep(LoopPart):
    """A program once for each row, from step to step with carries."""

    word = "scan"
    literals: ClassVar[tuple[str, ...]] = ("init", "xs", "args")
    scan: ProgramId = field(
        "The program: from carries, a row of each of xs, and args to the new carries and, behind "
        "them, what is collected.",
        _ID,
    )
    xs: list[LiteralOrName] = field(
        "Tensors whose rows, along the first axis, go into one step each.",
        ["x"],
        default_factory=list,
    )
    length: int | None = optional("How many steps; rows say it too.", 100, ge=0, lt=2**40)
    reverse: bool = field("From the last row to the first.", True, default=False)
    checkpoint: bool = field(
        "Keep a square root of the carries for the way back, and run the steps between them again.",
        True,
        default=False,
    )


class WhileStep(LoopPart):
    """A program on its own results, as long as a condition holds."""

    word = "while_loop"
    while_loop: ProgramId = field(
        "The condition: a program from carries and args to one bool.", _ID
    )
    body_fn: ProgramId = field(
        "The program of a step: from carries and args to the new carries.", _ID
    )
    bound: int | None = optional(
        "It has to end within so many steps. Gradients need one: the carries of all steps are kept "
        "for them.",
        1000,
        ge=0,
        lt=2**40,
    )


ControlStep = CondStep | ScanStep | WhileStep
"""Any of these."""
