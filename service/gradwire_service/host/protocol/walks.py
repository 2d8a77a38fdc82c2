"""The arguments of `grad` and `backward`, the same in a step and in a request of their own."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from gradwire_service.host.protocol.names import LiteralOrName, Read


class Part(BaseModel):
    """What every object of a request has in common: no unknown fields, nothing converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Walk(Part):
    """What `grad` and `backward` share."""

    retain_graph: bool | None = Field(
        None,
        description="Keep what the nodes saved for another walk; by default create_graph's value.",
        examples=[True],
    )
    create_graph: bool = Field(
        False, description="Record the walk itself, for derivatives of gradients.", examples=[True]
    )


class GradFields(Walk):
    """The arguments of torch.autograd.grad."""

    outputs: list[Read] = Field(description="What is differentiated.", examples=[["loss"]])
    inputs: list[Read] = Field(
        description="With respect to what; non-leaves too.", examples=[["x", "w"]]
    )
    grad_outputs: list[LiteralOrName] | None = Field(
        None,
        description="One cotangent for each output: a name, a literal, or null for 1 at a scalar.",
        examples=[[[1.0, 0.0]], ["v", None]],
    )
    allow_unused: bool | None = Field(
        None,
        description="Give null for inputs that no output depends on, where it is an error else.",
        examples=[True],
    )
    materialize_grads: bool = Field(
        False, description="Give zeros in place of null.", examples=[True]
    )
    is_grads_batched: bool = Field(
        False,
        description="The first axis of each of grad_outputs is a batch of cotangents, and of each "
        "gradient a batch of gradients: one walk for all.",
        examples=[True],
    )


class BackwardFields(Walk):
    """The arguments of torch.autograd.backward."""

    tensors: list[Read] = Field(description="What is differentiated.", examples=[["loss"]])
    grad_tensors: list[LiteralOrName] | None = Field(
        None,
        description="One cotangent for each tensor: a name, a literal, or null for 1 at a scalar.",
        examples=[[[1.0, 1.0]]],
    )
    inputs: list[Read] | None = Field(
        None,
        description="Accumulate into these alone; by default into every leaf.",
        examples=[["w"]],
    )
