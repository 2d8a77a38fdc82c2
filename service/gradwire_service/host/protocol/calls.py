"""Steps that call stored programs: as they are, over a batch axis, under a transform."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self
from typing import Literal as OneOf

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from gradwire_service.host.protocol.names import LiteralOrName, Out, Written, field, optional
from gradwire_service.host.protocol.step import StepPart

Strategy = OneOf["forward-mode", "reverse-mode"]
Derivative = OneOf["value_and_grad", "vjp", "jvp", "hvp", "vhp", "jacobian", "hessian"]
"""Transforms whose results may be tensors of a session."""
ProgramId = Annotated[str, Field(min_length=1, max_length=64)]
_ID = "p_0f4c2ba1d7e95836a1b2c3d4e5f60718"


class CallPart(StepPart):
    """What steps that call a program share. literals: fields whose values may be tensors'."""

    literals: ClassVar[tuple[str, ...]] = ("args",)
    args: list[LiteralOrName] = field(
        "One for each input of the program, in order: names of tensors, or literals.",
        ["w", "x"],
        ["x", 2.0],
        default_factory=list,
    )
    out: Out | None = optional(
        "The name of the result; of several results one name p for p.0, p.1, …, or a list of names "
        "with null for what isn't wanted.",
        "loss",
        ["loss", None],
    )


class CallStep(CallPart):
    """A program as part of the graph, as if its ops had been posted."""

    word = "call"
    call: ProgramId = field("The program's id.", _ID)
    checkpoint: bool = field(
        "Save the arguments only, and run the program again on the way back, from the same random "
        "state.",
        True,
        default=False,
    )
    planned: bool = field(
        "As one node, which runs by a plan when it was called often, and keeps its arguments only. "
        "A program that draws, writes to its arguments or looks at elements is called as always.",
        True,
        default=False,
    )
    preserve_rng_state: bool = field(
        "With checkpoint: whether it draws the same random numbers when it runs again.",
        False,
        default=True,
    )
    backward: ProgramId | None = optional(
        "Make it a custom function: this program gets the saved tensors and then the gradients of "
        "the outputs, and gives one gradient for each argument.",
        _ID,
    )
    null: list[Written] | None = optional(
        "With backward: the arguments, by the program's input names, that get no gradient; the "
        "backward program gives none for these.",
        ["n"],
    )
    name: Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,63}$")] | None = optional(
        "With backward: what errors and the graph call it; Custom by default.", "Square"
    )
    save: list[Written] | None = optional(
        "With backward: names of the forward program that the backward gets.", ["x"]
    )
    non_differentiable: list[Written] | None = optional(
        "With backward: outputs that never require grad.", ["index"]
    )
    dirty: list[Written] | None = optional(
        "With backward: inputs that the program writes in place and gives back.", ["x"]
    )
    materialize_grads: bool | None = optional(
        "With backward: zeros for outputs without gradient (the default), else null.", False
    )
    once_differentiable: bool | None = optional(
        "With backward: its results can't be differentiated again.", True
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not (self.preserve_rng_state or self.checkpoint):
            raise PydanticCustomError("call", "preserve_rng_state goes with checkpoint only")
        if self.planned and (self.checkpoint or self.backward is not None):
            raise PydanticCustomError("call", "planned goes with neither checkpoint nor backward")
        if self.backward is None:
            for name in _WITH_BACKWARD:
                if getattr(self, name) is not None:
                    raise PydanticCustomError(
                        "call", "{field} goes with backward only", {"field": name}
                    )
        elif self.checkpoint:
            raise PydanticCustomError(
                "call", "checkpoint doesn't go with backward: call the function in a program"
            )
        return self


_WITH_BACKWARD = (
    "null", "name", "save", "non_differentiable", "dirty", "materialize_grads",
    "once_differentiable",
)  # fmt: skip


class VmapStep(CallPart):
    """A program over a batch axis, as one vectorised run."""

    word = "vmap"
    vmap: ProgramId = field("The program's id.", _ID)
    in_dims: int | list[int | None] = field(
        "The axis of each argument that is the batch; null for one that all share.",
        [0, None],
        default=0,
    )
    out_dims: int | list[int] = field("Where the batch stands in each result.", 0, default=0)
    randomness: OneOf["error", "different", "same"] = field(
        "What random ops give: an error, numbers for each, or the same for all.",
        "different",
        default="error",
    )


class TransformStep(CallPart):
    """A transform of a program on tensors of the session."""

    word = "transform"
    transform: Derivative = field("Which transform.", "jacobian")
    call: ProgramId = field("The program's id.", _ID)
    create_graph: bool = field("Whether the result belongs to the graph.", True, default=False)
    wrt: list[Written] | None = optional(
        "Inputs to differentiate by; all floating and complex ones by default.", ["w"]
    )
    cotangents: dict[str, LiteralOrName] | None = optional(
        "For vjp and value_and_grad: by output; 1 at scalars by default.", {"z": [1.0, 0.0]}
    )
    tangents: dict[str, LiteralOrName] | None = optional("For jvp: by input.", {"x": "v"})
    vector: dict[str, LiteralOrName] | None = optional("For hvp and vhp: by input.", {"x": "v"})
    batched: bool = field(
        "Whether cotangents or tangents have a leading axis of many.", True, default=False
    )
    strategy: Strategy | None = optional(
        "For jacobian and hessian; by default what the shapes make cheaper.", "forward-mode"
    )
    values: list[Written | None] | None = optional(
        "Names for the program's outputs themselves.", ["z"]
    )
