"""Steps that run stored programs by a condition, or again and again."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from gradwire_service.host.protocol.calls import CallPart, ProgramId
from gradwire_service.host.protocol.names import LiteralOrName

_ID = "p_0f4c2ba1d7e95836a1b2c3d4e5f60718"


class CondStep(CallPart):
    """One of two programs, by a bool."""

    word = "cond"
    literals: ClassVar[tuple[str, ...]] = ("cond", "args")
    cond: LiteralOrName = Field(
        description="One bool: the name of a tensor, or a literal.", examples=["positive"]
    )
    true_fn: ProgramId = Field(description="The program where it is true.", examples=[_ID])
    false_fn: ProgramId = Field(
        description="The program where it is false; it gives results of the same shapes and "
        "dtypes.",
        examples=[_ID],
    )


class LoopPart(CallPart):
    """What loops share. `args` are the same in every step."""

    literals: ClassVar[tuple[str, ...]] = ("init", "args")
    init: list[LiteralOrName] = Field(
        default_factory=list,
        description="What goes from step to step, as it is before the first: the program's first "
        "inputs. Each keeps its shape and dtype.",
        examples=[["h"], ["h", "c"]],
    )


class ScanStep(LoopPart):
    """A program once for each row, from step to step with carries."""

    word = "scan"
    literals: ClassVar[tuple[str, ...]] = ("init", "xs", "args")
    scan: ProgramId = Field(
        description="The program: from carries, a row of each of xs, and args to the new carries "
        "and, behind them, what is collected.",
        examples=[_ID],
    )
    xs: list[LiteralOrName] = Field(
        default_factory=list,
        description="Tensors whose rows, along the first axis, go into one step each.",
        examples=[["x"]],
    )
    length: int | None = Field(
        None, ge=0, lt=2**40, description="How many steps; rows say it too.", examples=[100]
    )
    reverse: bool = Field(False, description="From the last row to the first.", examples=[True])
    checkpoint: bool = Field(
        False,
        description="Keep a square root of the carries for the way back, and run the steps between "
        "them again.",
        examples=[True],
    )


class WhileStep(LoopPart):
    """A program on its own results, as long as a condition holds."""

    word = "while_loop"
    while_loop: ProgramId = Field(
        description="The condition: a program from carries and args to one bool.", examples=[_ID]
    )
    body_fn: ProgramId = Field(
        description="The program of a step: from carries and args to the new carries.",
        examples=[_ID],
    )
    bound: int | None = Field(
        None,
        ge=0,
        lt=2**40,
        description="It has to end within so many steps. Gradients need one: the carries of all "
        "steps are kept for them.",
        examples=[1000],
    )


ControlStep = CondStep | ScanStep | WhileStep
"""Any of these."""
