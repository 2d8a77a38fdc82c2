"""The bodies of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from gradwire_service.host.protocol.calls import CallStep, TransformStep, VmapStep
from gradwire_service.host.protocol.control import CondStep, ScanStep, WhileStep
from gradwire_service.host.protocol.hooks import AnomalyMode
from gradwire_service.host.protocol.names import (
    DTypeName,
    FloatName,
    Literal,
    Read,
    Seed,
    Written,
    field,
    optional,
)
from gradwire_service.host.protocol.step import GradMode, StepPart
from gradwire_service.host.protocol.steps import (
    GradStep,
    OpStep,
    RequiresGradStep,
    Step,
    one_of,
    word_of,
)
from gradwire_service.host.protocol.walks import BackwardFields, GradFields, Part

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Bytes = Annotated[int, Field(gt=0, lt=2**63)]
Size = Annotated[int, Field(ge=0)]


class SessionCreate(Part):
    """A new session."""

    label: str | None = optional("What you call it.", "digits", max_length=200)
    device: str = field("Where its tensors live.", "cpu", "cuda", default="cpu", max_length=32)
    dtype: FloatName = field(
        "Default dtype of literals that have none and require grad.", "float64", default="float32"
    )
    seed: Seed | None = optional("Seed of its random numbers; drawn where left out.", 0)
    ttl_seconds: Seconds | None = optional(
        "Seconds without a request after which it expires.", 3600
    )
    memory_limit_bytes: Bytes | None = optional("Bytes it may hold at most.", 1_000_000_000)
    durable: bool | None = optional(
        "Whether it outlives the server; by default where the server keeps any.", False
    )
    detect_anomaly: bool = field(
        "Have walks search what each node gives for NaN, and name the node.", True, default=False
    )


class SessionPatch(Part):
    """What may change in a session. A field that is left out stays as it is."""

    label: str | None = optional("What you call it; null removes it.", "run 2", max_length=200)
    dtype: FloatName | None = optional(
        "Default dtype from now on, of literals and of floats that nothing decides.", "float64"
    )
    ttl_seconds: Seconds | None = optional("Seconds without a request after which it expires.", 600)
    memory_limit_bytes: Bytes | None = optional("Bytes it may hold at most.", 1_000_000_000)
    detect_anomaly: bool | None = optional(
        "Whether walks search what each node gives for NaN.", True
    )


class SessionFork(SessionPatch):
    """What is different in a fork. A field that is left out is as in the session it is made of."""

    seed: Seed | None = optional(
        "Seed of its random numbers; left out they go on as the other session's.", 1
    )
    durable: bool | None = optional("Whether it outlives the server.", False)


class Reply(Part):
    """What a request that runs steps says beside them."""

    returns: list[Read] = field(
        "Tensors to send back; x.grad is null where there is no gradient.",
        ["z", "x.grad"],
        default_factory=list,
        alias="return",
    )
    grad_mode: GradMode | None = optional("The grad mode of the request.", "no_grad")
    anomaly: AnomalyMode | None = optional(
        "Whether its walks search what each node gives for NaN; by default as the session's "
        "detect_anomaly.",
        True,
        {"check_nan": False},
    )
    profile: bool = field(
        "Have the reply say what each op took: how often it ran, seconds, bytes.",
        True,
        default=False,
    )


class Run(Reply):
    """How a request of several steps runs."""

    atomic: bool = field(
        "All or nothing; false keeps the steps before one that fails.", False, default=True
    )


class StepsRequest(Run):
    """Any number of steps, in order, in one round trip."""

    steps: Annotated[list[Step], Field(fail_fast=True)] = field(
        "The steps, in order.",
        [
            {"tensor": "x", "value": [1, 2, 3], "requires_grad": True},
            {"op": "pow", "args": ["x", 2], "out": "y"},
            {"op": "sum", "args": ["y"], "out": "z"},
            {"backward": {"tensors": ["z"]}},
        ],
    )


def _just(field: str, type: str) -> JsonDict:
    return {"required": [field], "properties": {field: {"type": type}}}


class OpsOrSource(Part):
    """Ops as data or as text."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [_just("ops", "array"), _just("source", "string")]}
    )

    ops: Annotated[list[Any], Field(fail_fast=True)] | None
    source: str | None = optional("The ops as text, in place of `ops`.", "y = x ** 2\nz = y.sum()")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.ops is None and self.source is None:
            raise PydanticCustomError("ops_or_source", "neither ops nor source is given")
        if self.ops is not None and self.source is not None:
            raise PydanticCustomError("ops_or_source", "give either ops or source, not both")
        return self


def _only_op(step: object) -> object:
    if word_of(step) != "op":
        raise PydanticCustomError("union_tag_other", "only op steps stand here")
    return step


OnlyOp = Annotated[OpStep, BeforeValidator(_only_op)]


class OpsRequest(OpsOrSource, Run):
    """Ops alone, in order."""

    ops: Annotated[list[OnlyOp], Field(fail_fast=True)] | None = optional(
        "The ops to apply.", [{"op": "sin", "args": ["x"], "out": "y"}]
    )


class GradRequest(GradFields, Reply):
    """torch.autograd.grad as a request of its own."""

    out: list[Written | None] | None = optional(
        "Names for the gradients in the session, in the order of inputs.", ["gx"]
    )


class BackwardRequest(BackwardFields, Reply):
    """torch.autograd.backward as a request of its own."""


class TensorBody(Part):
    """A leaf, sent to its own address."""

    value: Literal = field("Its elements, as a tensor literal.", [1, 2, 3])
    dtype: DTypeName | None = optional("The dtype to convert to.", "float64")
    requires_grad: bool = field("Whether gradients are accumulated for it.", True, default=False)


class ProgramInput(Part):
    """An input of a program whose dtype or shape is fixed."""

    name: Written = field("The input's name.", "x")
    dtype: DTypeName | None = optional("The dtype it must have.", "float32")
    shape: list[Size | None] | None = optional(
        "The shape it must have; null leaves an axis open.", [None, 3]
    )


Input = Annotated[
    Annotated[Written, Tag("name")] | Annotated[ProgramInput, Tag("object")],
    Discriminator(lambda value: "object" if isinstance(value, dict) else "name"),
]
if TYPE_CHECKING:
    ProgramStep = StepPart
else:
    ProgramStep = one_of(
        (
            OpStep, GradStep, RequiresGradStep, CallStep, TransformStep, VmapStep, CondStep,
            ScanStep, WhileStep,
        )
    )  # fmt: skip


class Program(OpsOrSource):
    """Ops with named inputs and outputs."""

    inputs: list[Input] = field("The inputs: names, or objects that fix dtype or shape.", ["x"])
    ops: Annotated[list[ProgramStep], Field(fail_fast=True)] | None = optional(
        "What it does: op, grad, requires_grad, call, vmap, transform, cond, scan and while_loop "
        "steps.",
        [{"op": "sum", "args": ["x"], "out": "z"}],
    )
    outputs: list[Written] = field("The outputs, by name.", ["z"])
