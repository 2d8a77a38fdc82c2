"""Steps that call stored programs: as they are, over a batch axis, under a transform."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self
from typing import Literal as OneOf

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from gradwire_service.host.protocol.names import LiteralOrName, Out, Written
from gradwire_service.host.protocol.step import StepPart

Strategy = OneOf["forward-mode", "reverse-mode"]
Derivative = OneOf["value_and_grad", "vjp", "jvp", "hvp", "vhp", "jacobian", "hessian"]
"""Transforms whose results may be tensors of a session."""
ProgramId = Annotated[str, Field(min_length=1, max_length=64)]
_ID = "p_0f4c2ba1d7e95836a1b2c3d4e5f60718"


class CallPart(StepPart):
    """What steps that call a program share. literals: fields whose values may be tensors'."""

    literals: ClassVar[tuple[str, ...]] = ("args",)
    args: list[LiteralOrName] = Field(
        default_factory=list,
        description="One for each input of the program, in order: names of tensors, or literals.",
        examples=[["w", "x"], ["x", 2.0]],
    )
    out: Out | None = Field(
        None,
        description="The name of the result; of several results one name p for p.0, p.1, …, or a "
        "list of names with null for what isn't wanted.",
        examples=["loss", ["loss", None]],
    )


class CallStep(CallPart):
    """A program as part of the graph, as if its ops had been posted."""

    word = "call"
    call: ProgramId = Field(description="The program's id.", examples=[_ID])
    checkpoint: bool = Field(
        False,
        description="Save the arguments only, and run the program again on the way back, from the "
        "same random state.",
        examples=[True],
    )
    planned: bool = Field(
        False,
        description="As one node, which runs by a plan when it was called often, and keeps its "
        "arguments only. A program that draws, writes to its arguments or looks at elements is "
        "called as always.",
        examples=[True],
    )
    preserve_rng_state: bool = Field(
        True,
        description="With checkpoint: whether it draws the same random numbers when it runs again.",
        examples=[False],
    )
    backward: ProgramId | None = Field(
        None,
        description="Make it a custom function: this program gets the saved tensors and then the "
        "gradients of the outputs, and gives one gradient for each argument.",
        examples=[_ID],
    )
    null: list[Written] | None = Field(
        None,
        description="With backward: the arguments, by the program's input names, that get no "
        "gradient; the backward program gives none for these.",
        examples=[["n"]],
    )
    name: Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,63}$")] | None = Field(
        None,
        description="With backward: what errors and the graph call it; Custom by default.",
        examples=["Square"],
    )
    save: list[Written] | None = Field(
        None,
        description="With backward: names of the forward program that the backward gets.",
        examples=[["x"]],
    )
    non_differentiable: list[Written] | None = Field(
        None, description="With backward: outputs that never require grad.", examples=[["index"]]
    )
    dirty: list[Written] | None = Field(
        None,
        description="With backward: inputs that the program writes in place and gives back.",
        examples=[["x"]],
    )
    materialize_grads: bool | None = Field(
        None,
        description="With backward: zeros for outputs without gradient (the default), else null.",
        examples=[False],
    )
    once_differentiable: bool | None = Field(
        None,
        description="With backward: its results can't be differentiated again.",
        examples=[True],
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not (self.preserve_rng_state or self.checkpoint):
            raise PydanticCustomError("call", "preserve_rng_state goes with checkpoint only")
        if self.planned and (self.checkpoint or self.backward is not None):
            raise PydanticCustomError("call", "planned goes with neither checkpoint nor backward")
        if self.backward is None:
            for field in _WITH_BACKWARD:
                if getattr(self, field) is not None:
                    raise PydanticCustomError(
                        "call", "{field} goes with backward only", {"field": field}
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
    vmap: ProgramId = Field(description="The program's id.", examples=[_ID])
    in_dims: int | list[int | None] = Field(
        0,
        description="The axis of each argument that is the batch; null for one that all share.",
        examples=[[0, None]],
    )
    out_dims: int | list[int] = Field(
        0, description="Where the batch stands in each result.", examples=[0]
    )
    randomness: OneOf["error", "different", "same"] = Field(
        "error",
        description="What random ops give: an error, numbers for each, or the same for all.",
        examples=["different"],
    )


class TransformStep(CallPart):
    """A transform of a program on tensors of the session."""

    word = "transform"
    transform: Derivative = Field(description="Which transform.", examples=["jacobian"])
    call: ProgramId = Field(description="The program's id.", examples=[_ID])
    create_graph: bool = Field(
        False, description="Whether the result belongs to the graph.", examples=[True]
    )
    wrt: list[Written] | None = Field(
        None,
        description="Inputs to differentiate by; all floating and complex ones by default.",
        examples=[["w"]],
    )
    cotangents: dict[str, LiteralOrName] | None = Field(
        None,
        description="For vjp and value_and_grad: by output; 1 at scalars by default.",
        examples=[{"z": [1.0, 0.0]}],
    )
    tangents: dict[str, LiteralOrName] | None = Field(
        None, description="For jvp: by input.", examples=[{"x": "v"}]
    )
    vector: dict[str, LiteralOrName] | None = Field(
        None, description="For hvp and vhp: by input.", examples=[{"x": "v"}]
    )
    batched: bool = Field(
        False,
        description="Whether cotangents or tangents have a leading axis of many.",
        examples=[True],
    )
    strategy: Strategy | None = Field(
        None,
        description="For jacobian and hessian; by default what the shapes make cheaper.",
        examples=["forward-mode"],
    )
    values: list[Written | None] | None = Field(
        None, description="Names for the program's outputs themselves.", examples=[["z"]]
    )
