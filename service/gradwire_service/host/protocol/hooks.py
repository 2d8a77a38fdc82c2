"""Steps that register hooks and take them away, and the field that asks for anomaly mode."""

from __future__ import annotations

from typing import Annotated, Self
from typing import Literal as OneOf

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from gradwire_service.host.protocol.calls import ProgramId
from gradwire_service.host.protocol.names import LiteralOrName, Read, Written, field, optional
from gradwire_service.host.protocol.step import StepPart
from gradwire_service.host.protocol.walks import Part

HookId = Annotated[str, Field(min_length=1, max_length=128)]
HookKind = OneOf["tensor", "post_accumulate", "node", "node_before"]
"""Whose hook: a tensor's, a leaf's after its gradient was accumulated, the node's that made it."""


class HookStep(StepPart):
    """See a gradient in every walk from now on, and replace it if a program says so."""

    word = "hook"
    hook: Written = field("The tensor, or the result of the node.", "h")
    program: ProgramId | None = optional(
        "A program from the gradient to its replacement; it may also give nothing back: with "
        "`observes` its outputs don't count. A post_accumulate hook's program takes the leaf and "
        "its gradient; a node hook's takes the gradients of the operands and then of the results; "
        "a node_before hook's those of the results.",
        "p_0f4c2ba1d7e95836a1b2c3d4e5f60718",
    )
    args: list[LiteralOrName] = field(
        "Further inputs of the program, after the gradients: names of tensors, or literals. They "
        "are the tensors of now, held as long as the hook; a name that is free but for a hook's "
        "`out` or `keep` stands for what that hook saw in the same walk.",
        ["w"],
        default_factory=list,
    )
    observes: bool = field("Whether the program's outputs replace nothing.", True, default=False)
    kind: HookKind = field("What the hook is of.", "node", default="tensor")
    out: Written | None = optional(
        "A name for what arrived, as the hooks before this one left it; of post_accumulate the "
        "accumulated gradient, of a node hook its first result's gradient.",
        "g_h",
    )
    keep: dict[str, Written] = field(
        "Names for what the program is given or makes on the way, by its own names: they stand for "
        "the tensors of the last walk.",
        {"clipped": "g_clipped"},
        default_factory=dict,
    )
    id: HookId | None = optional("A name for the hook, by which unhook finds it.", "clip")

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if self.program is None and self.out is None:
            raise PydanticCustomError("hook", "a hook needs a program, or a name in out, or both")
        if self.program is None and self.args:
            raise PydanticCustomError("hook", "args are for a program")
        if self.program is None and self.keep:
            raise PydanticCustomError("hook", "keep is for what a program makes")
        return self


class EdgeStep(StepPart):
    """Name the place in the graph where gradients of a tensor arrive now."""

    word = "edge"
    edge: Read = field("The tensor.", "h")
    out: Written = field(
        "A name for the place: for outputs and inputs of grad and backward, also after the tensor "
        "was written in place.",
        "e",
    )
    hooks: bool = field(
        "Whether hooks of the tensor are to hang there: its list of them goes along where it is "
        "detached in place or given another form.",
        True,
        default=False,
    )


class UnhookStep(StepPart):
    """Take a hook away."""

    word = "unhook"
    unhook: HookId = field("The hook's id.", "clip")


class Anomaly(Part):
    """How anomaly mode looks at a walk."""

    check_nan: bool = field("Whether the gradients of each node are searched.", False, default=True)


AnomalyMode = bool | Anomaly
