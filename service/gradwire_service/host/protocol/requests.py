"""The bodies of requests."""

from __future__ import annotations

from typing import Annotated, Any, Self

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
    LiteralOrSession,
    Read,
    Seed,
    Written,
)
from gradwire_service.host.protocol.steps import (
    GradMode,
    GradStep,
    OpStep,
    RequiresGradStep,
    Step,
    word_of,
)
from gradwire_service.host.protocol.walks import BackwardFields, GradFields, Part

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Bytes = Annotated[int, Field(gt=0, lt=2**63)]
Size = Annotated[int, Field(ge=0)]


class SessionCreate(Part):
    """A new session."""

    label: str | None = Field(
        None, description="What you call it.", examples=["digits"], max_length=200
    )
    device: str = Field(
        "cpu", description="Where its tensors live.", examples=["cpu", "cuda"], max_length=32
    )
    dtype: FloatName = Field(
        "float32",
        description="Default dtype of literals that have none and require grad.",
        examples=["float64"],
    )
    seed: Seed | None = Field(
        None, description="Seed of its random numbers; drawn where left out.", examples=[0]
    )
    ttl_seconds: Seconds | None = Field(
        None, description="Seconds without a request after which it expires.", examples=[3600]
    )
    memory_limit_bytes: Bytes | None = Field(
        None, description="Bytes it may hold at most.", examples=[1_000_000_000]
    )
    durable: bool | None = Field(
        None,
        description="Whether it outlives the server; by default where the server keeps any.",
        examples=[False],
    )
    detect_anomaly: bool = Field(
        False,
        description="Have walks search what each node gives for NaN, and name the node.",
        examples=[True],
    )


class SessionPatch(Part):
    """What may change in a session. A field that is left out stays as it is."""

    label: str | None = Field(
        None, description="What you call it; null removes it.", examples=["run 2"], max_length=200
    )
    dtype: FloatName | None = Field(
        None,
        description="Default dtype from now on, of literals and of floats that nothing decides.",
        examples=["float64"],
    )
    ttl_seconds: Seconds | None = Field(
        None, description="Seconds without a request after which it expires.", examples=[600]
    )
    memory_limit_bytes: Bytes | None = Field(
        None, description="Bytes it may hold at most.", examples=[1_000_000_000]
    )
    detect_anomaly: bool | None = Field(
        None,
        description="Whether walks search what each node gives for NaN.",
        examples=[True],
    )


class SessionFork(SessionPatch):
    """What is different in a fork. A field that is left out is as in the session it is made of."""

    seed: Seed | None = Field(
        None,
        description="Seed of its random numbers; left out they go on as the other session's.",
        examples=[1],
    )
    durable: bool | None = Field(
        None, description="Whether it outlives the server.", examples=[False]
    )


class Reply(Part):
    """What a request that runs steps says beside them."""

    returns: list[Read] = Field(
        default_factory=list,
        alias="return",
        description="Tensors to send back; x.grad is null where there is no gradient.",
        examples=[["z", "x.grad"]],
    )
    grad_mode: GradMode | None = Field(
        None, description="The grad mode of the request.", examples=["no_grad"]
    )
    anomaly: AnomalyMode | None = Field(
        None,
        description="Whether its walks search what each node gives for NaN; by default as the "
        "session's detect_anomaly.",
        examples=[True, {"check_nan": False}],
    )
    profile: bool = Field(
        False,
        description="Have the reply say what each op took: how often it ran, seconds, bytes.",
        examples=[True],
    )


class Run(Reply):
    """How a request of several steps runs."""

    atomic: bool = Field(
        True,
        description="All or nothing; false keeps the steps before one that fails.",
        examples=[False],
    )


class StepsRequest(Run):
    """Any number of steps, in order, in one round trip."""

    steps: Annotated[list[Step], Field(fail_fast=True)] = Field(
        description="The steps, in order.",
        examples=[
            [
                {"tensor": "x", "value": [1, 2, 3], "requires_grad": True},
                {"op": "pow", "args": ["x", 2], "out": "y"},
                {"op": "sum", "args": ["y"], "out": "z"},
                {"backward": {"tensors": ["z"]}},
            ]
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
    source: str | None = Field(
        None,
        description="The ops as text, in place of `ops`.",
        examples=["y = x ** 2\nz = y.sum()"],
    )

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

    ops: Annotated[list[OnlyOp], Field(fail_fast=True)] | None = Field(
        None,
        description="The ops to apply.",
        examples=[[{"op": "sin", "args": ["x"], "out": "y"}]],
    )


class GradRequest(GradFields, Reply):
    """torch.autograd.grad as a request of its own."""

    out: list[Written | None] | None = Field(
        None,
        description="Names for the gradients in the session, in the order of inputs.",
        examples=[["gx"]],
    )


class BackwardRequest(BackwardFields, Reply):
    """torch.autograd.backward as a request of its own."""


class TensorBody(Part):
    """A leaf, sent to its own address."""

    value: Literal = Field(description="Its elements, as a tensor literal.", examples=[[1, 2, 3]])
    dtype: DTypeName | None = Field(
        None, description="The dtype to convert to.", examples=["float64"]
    )
    requires_grad: bool = Field(
        False, description="Whether gradients are accumulated for it.", examples=[True]
    )


class ProgramInput(Part):
    """An input of a program whose dtype or shape is fixed."""

    name: Written = Field(description="The input's name.", examples=["x"])
    dtype: DTypeName | None = Field(
        None, description="The dtype it must have.", examples=["float32"]
    )
    shape: list[Size | None] | None = Field(
        None, description="The shape it must have; null leaves an axis open.", examples=[[None, 3]]
    )


def _input_kind(value: object) -> str:
    return "object" if isinstance(value, dict) else "name"


Input = Annotated[
    Annotated[Written, Tag("name")] | Annotated[ProgramInput, Tag("object")],
    Discriminator(_input_kind),
]
ProgramStep = Annotated[
    Annotated[OpStep, Tag("op")]
    | Annotated[GradStep, Tag("grad")]
    | Annotated[RequiresGradStep, Tag("requires_grad")]
    | Annotated[CallStep, Tag("call")]
    | Annotated[TransformStep, Tag("transform")]
    | Annotated[VmapStep, Tag("vmap")]
    | Annotated[CondStep, Tag("cond")]
    | Annotated[ScanStep, Tag("scan")]
    | Annotated[WhileStep, Tag("while_loop")],
    Discriminator(word_of),
]


class Program(OpsOrSource):
    """Ops with named inputs and outputs."""

    inputs: list[Input] = Field(
        description="The inputs: names, or objects that fix dtype or shape.", examples=[["x"]]
    )
    ops: Annotated[list[ProgramStep], Field(fail_fast=True)] | None = Field(
        None,
        description="What it does: op, grad, requires_grad, call, vmap, transform, cond, scan and "
        "while_loop steps.",
        examples=[[{"op": "sum", "args": ["x"], "out": "z"}]],
    )
    outputs: list[Written] = Field(description="The outputs, by name.", examples=[["z"]])


class EvaluateRequest(Part):
    """A program and what to run it on."""

    program: Program = Field(
        description="The program.",
        examples=[{"inputs": ["x"], "source": "z = (x ** 2).sum()", "outputs": ["z"]}],
    )
    inputs: dict[str, LiteralOrSession] = Field(
        description="A tensor literal for each input, or a tensor of a session.",
        examples=[{"x": [1, 2, 3]}],
    )


class ValueAndGradRequest(EvaluateRequest):
    """A program, its inputs, and what to differentiate by."""

    wrt: list[Written] | None = Field(
        None,
        description="Inputs to differentiate by; all floating and complex ones by default.",
        examples=[["x"]],
    )
    grad_outputs: dict[str, LiteralOrSession] | None = Field(
        None,
        description="Cotangents of the outputs; 1 at scalars by default.",
        examples=[{"z": 1.0}],
    )
