"""The arguments of `grad` and `backward`, the same in a step and in a request of their own."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from gradwire_service.host.protocol.names import LiteralOrName, Read, field, optional


class Part(BaseModel):
    """What every object of a request has in common: no unknown fields, nothing converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Walk(Part):
    """What `grad` and `backward` share."""

    retain_graph: bool | None = optional(
        "Keep what the nodes saved for another walk; by default create_graph's value.", True
    )
    create_graph: bool = field(
        "Record the walk itself, for derivatives of gradients.", True, default=False
    )


class GradFields(Walk):
    """The arguments of torch.autograd.grad."""

    outputs: list[Read] = field("What is differentiated.", ["loss"])
    inputs: list[Read] = field("With respect to what; non-leaves too.", ["x", "w"])
    grad_outputs: list[LiteralOrName] | None = optional(
        "One cotangent for each output: a name, a literal, or null for 1 at a scalar.",
        [[1.0, 0.0]],
        ["v", None],
    )
    allow_unused: bool | None = optional(
        "Give null for inputs that no output depends on, where it is an error else.", True
    )
    materialize_grads: bool = field("Give zeros in place of null.", True, default=False)
    is_grads_batched: bool = field(
        "The first axis of each of grad_outputs is a batch of cotangents, and of each gradient a "
        "batch of gradients: one walk for all.",
        True,
        default=False,
    )


class BackwardFields(Walk):
    """The arguments of torch.autograd.backward."""

    tensors: list[Read] = field("What is differentiated.", ["loss"])
    grad_tensors: list[LiteralOrName] | None = optional(
        "One cotangent for each tensor: a name, a literal, or null for 1 at a scalar.", [[1.0, 1.0]]
    )
    inputs: list[Read] | None = optional(
        "Accumulate into these alone; by default into every leaf.", ["w"]
    )
