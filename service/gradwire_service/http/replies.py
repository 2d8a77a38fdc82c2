"""What replies look like, for OpenAPI: the host makes them, nothing is validated with these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from gradwire_engine.spec import DTYPES
from gradwire_service.host.protocol.steps import RandomState

_TENSOR: dict[str, Any] = {
    "name": "z", "dtype": "float32", "shape": [], "device": "cpu", "requires_grad": True,
    "is_leaf": False, "grad_fn": "SumBackward0", "version": 0, "data": 14.0,
}  # fmt: skip
_GRAD = {
    "name": "x.grad", "dtype": "float32", "shape": [3], "device": "cpu", "requires_grad": False,
    "is_leaf": True, "grad_fn": None, "version": 0, "data": [2.0, 4.0, 6.0],
}  # fmt: skip
_ROW = {"kind": "op", "name": "pow", "count": 1, "seconds": 0.000012, "bytes": 12}
_BYTES = {"values": 28, "saved": 0, "grads": 12, "total": 40, "overhead": 2752, "peak": 64}
_SESSION = {
    "id": "s_9f2c4e1a7b3d5f6081a2c3d4", "label": "digits", "device": "cpu", "dtype": "float32",
    "created": "2026-01-05T10:00:00.000Z", "last_use": "2026-01-05T10:00:01.000Z",
    "expires": "2026-01-05T11:00:01.000Z", "ttl_seconds": 3600.0,
    "memory_limit_bytes": 4294967296, "detect_anomaly": False, "durable": True,
    "parked": False, "tensors": 3,
}  # fmt: skip

DTypeName = Annotated[str, WithJsonSchema({"type": "string", "enum": list(DTYPES)})]
Shape = Annotated[
    list[int], Field(description="Length of each axis; [] is a single number.", examples=[[2, 3]])
]


class Part(BaseModel):
    """A piece of a reply."""

    model_config = ConfigDict(extra="forbid")


class TensorReply(Part):
    """A tensor. Beside `data` may stand `base64` (with ?data=base64) or `binary`, or nothing."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_TENSOR]})

    name: str | None = Field(description="Its name in the session.", examples=["z"])
    dtype: DTypeName = Field(description="The type of its elements.", examples=["float32"])
    shape: Shape
    device: str = Field(description="Where it lives.", examples=["cpu"])
    requires_grad: bool = Field(description="Whether gradients flow through it.", examples=[True])
    is_leaf: bool = Field(description="Whether no op of the graph made it.", examples=[False])
    grad_fn: str | None = Field(
        description="PyTorch's name of the node that made it.", examples=["PowBackward0"]
    )
    version: int = Field(description="How often it was written in place.", examples=[0])
    data: Any = Field(
        None,
        description="Its elements, nested by shape; a complex number is [re, im], and numbers that "
        "JSON lacks are NaN, Infinity and -Infinity as strings.",
        examples=[14.0],
    )
    base64: str = Field(
        "", description="Its elements as little-endian bytes, row by row.", examples=["AABgQQ=="]
    )
    binary: str = Field(
        "", description="The array of the safetensors body that holds them.", examples=["z"]
    )


class ProfileRow(Part):
    """All uses of one op, node or kind of step; what ran within it has rows of its own."""

    kind: Literal["op", "node", "step"] = Field(
        description="An op step, a node of a walk, or any other step.", examples=["op"]
    )
    name: str = Field(
        description="The op, the node as PyTorch calls it, or the step's word.", examples=["pow"]
    )
    count: int = Field(description="How often it ran.", examples=[1])
    seconds: float = Field(description="What it took.", examples=[0.000012])
    bytes: int = Field(description="Bytes it asked for.", examples=[12])


class ProfileReply(Part):
    """What the ops of a request took, those that took longest first."""

    seconds: float = Field(description="What the request took, its values read.", examples=[0.0002])
    bytes: int = Field(description="Bytes it asked for.", examples=[40])
    rows: list[ProfileRow] = Field(description="By op, node and kind of step.", examples=[[_ROW]])


class ValuesReply(Part):
    """What a request that ran steps returns."""

    values: dict[str, TensorReply | None] = Field(
        description="The tensors that `return` named; null for an absent gradient.",
        examples=[{"z": _TENSOR, "x.grad": _GRAD}],
    )
    profile: ProfileReply | None = Field(
        None,
        description="What each op took, where `profile` asked for it; else it is not there.",
        examples=[{"seconds": 0.0002, "bytes": 40, "rows": [_ROW]}],
    )


class GradsReply(Part):
    """Gradients in the order of `inputs`."""

    grads: list[TensorReply | None] = Field(
        description="One for each input; null where the outputs don't depend on it.",
        examples=[[_GRAD]],
    )
    values: dict[str, TensorReply | None] = Field(
        {}, description="What `return` named, where it named anything.", examples=[{"z": _TENSOR}]
    )
    profile: ProfileReply | None = Field(
        None,
        description="What each op took, where `profile` asked for it; else it is not there.",
        examples=[{"seconds": 0.0002, "bytes": 40, "rows": [_ROW]}],
    )


class EvaluateReply(Part):
    """The outputs of a program."""

    outputs: dict[str, TensorReply] = Field(
        description="Each output of the program.", examples=[{"z": _TENSOR}]
    )


class ValueAndGradReply(EvaluateReply):
    """The outputs of a program and their gradients."""

    grads: dict[str, TensorReply | None] = Field(
        description="By input; null where the outputs don't depend on it.",
        examples=[{"x": _GRAD | {"name": "x"}}],
    )


class OptimizerItem(Part):
    """One optimiser."""

    name: str = Field(description="Its name.", examples=["opt"])
    kind: str = Field(description="What it is.", examples=["sgd"])
    groups: list[dict[str, Any]] = Field(
        description="Names of parameters, null for one without a name now, and their settings.",
        examples=[[{"params": ["w"], "lr": 0.1}]],
    )
    state: list[dict[str, Any]] = Field(
        description="What it keeps of each parameter: numbers, and tensors of its shape.",
        examples=[[{"param": "w", "step": 3, "exp_avg": _GRAD | {"name": None}}]],
    )


class OptimizersReply(Part):
    """The optimisers of a session."""

    items: list[OptimizerItem] = Field(
        description="Each of them, oldest first.",
        examples=[[{"name": "opt", "kind": "sgd", "groups": [], "state": []}]],
    )


class BytesReply(Part):
    """Bytes held, by what they are for."""

    values: int = Field(description="By tensors that have names.", examples=[28])
    saved: int = Field(description="By the graph alone, for backward.", examples=[0])
    grads: int = Field(description="By gradients.", examples=[12])
    total: int = Field(description="All of it.", examples=[40])
    overhead: int = Field(
        description="What tensors, nodes and views take beside elements, about; it counts towards "
        "the session's limit.",
        examples=[2752],
    )
    peak: int = Field(
        description="The most that was held at any time, counted as if nothing that a step made "
        "had been freed before the step's end.",
        examples=[64],
    )


class SessionItem(Part):
    """A session, in short."""

    id: str = Field(description="Its id.", examples=[_SESSION["id"]])
    label: str | None = Field(description="What you call it.", examples=["digits"])
    device: str = Field(description="Where its tensors live.", examples=["cpu"])
    dtype: DTypeName = Field(description="Its default dtype.", examples=["float32"])
    created: str = Field(description="When it was made, in UTC.", examples=[_SESSION["created"]])
    last_use: str = Field(description="When it was last used.", examples=[_SESSION["last_use"]])
    expires: str = Field(
        description="When it expires if nobody uses it.", examples=[_SESSION["expires"]]
    )
    ttl_seconds: float = Field(
        description="Seconds without a request after which it expires.", examples=[3600]
    )
    memory_limit_bytes: int = Field(description="Bytes it may hold at most.", examples=[4294967296])
    detect_anomaly: bool = Field(description="Whether its walks search for NaN.", examples=[False])
    durable: bool = Field(description="Whether it outlives the server.", examples=[True])
    parked: bool = Field(
        description="Whether it left memory for the disk, until the next request.", examples=[False]
    )
    tensors: int = Field(description="How many names it has.", examples=[3])


class SessionReply(SessionItem):
    """A session."""

    random: RandomState | None = Field(
        description="Where its random numbers come from; null while it is parked.",
        examples=[{"seed": 7, "draws": 2}],
    )
    nodes: int = Field(description="Nodes of its graph.", examples=[2])
    bytes: BytesReply = Field(description="Bytes it holds, counted exactly.", examples=[_BYTES])


class SessionsReply(Part):
    """A page of sessions, oldest first."""

    items: list[SessionItem] = Field(description="The sessions.", examples=[[_SESSION]])
    next: str | None = Field(
        description="The cursor of the next page; null at the end.", examples=["42", None]
    )


class TensorItem(Part):
    """A tensor, in short."""

    name: str = Field(description="Its name.", examples=["w"])
    dtype: DTypeName = Field(description="The type of its elements.", examples=["float32"])
    shape: Shape
    device: str = Field(description="Where it lives.", examples=["cpu"])
    bytes: int = Field(description="The size of its elements in bytes.", examples=[12])
    requires_grad: bool = Field(description="Whether gradients flow through it.", examples=[True])
    is_leaf: bool = Field(description="Whether no op of the graph made it.", examples=[True])
    has_grad: bool = Field(description="Whether it has a gradient.", examples=[False])


class TensorsReply(Part):
    """The tensors of a session, by name."""

    items: list[TensorItem] = Field(
        description="The tensors.",
        examples=[
            [
                {
                    "name": "w", "dtype": "float32", "shape": [3], "device": "cpu", "bytes": 12,
                    "requires_grad": True, "is_leaf": True, "has_grad": False,
                }
            ]
        ],
    )  # fmt: skip


class OutputSpec(Part):
    """What one result of a node is."""

    dtype: DTypeName = Field(description="Its dtype.", examples=["float32"])
    shape: Shape


class NodeReply(Part):
    """A node of the graph: a leaf, a constant, an op or a gradient."""

    id: str = Field(description="Its id, for the edges.", examples=["n3"])
    kind: Literal["leaf", "constant", "op", "gradient", "output"] = Field(
        description="What it is; an output is a named op that nothing else was made of.",
        examples=["op"],
    )
    label: str = Field(description="The op, or the name of a leaf.", examples=["pow"])
    name: str | None = Field(description="The names of its tensor.", examples=["y"])
    grad_fn: str | None = Field(
        description="PyTorch's name for the node.", examples=["PowBackward0"]
    )
    shape: Shape
    dtype: DTypeName = Field(description="Its dtype.", examples=["float32"])
    bytes: int = Field(description="The size of its results in bytes.", examples=[12])
    step: int | None = Field(description="The step of the request that made it.", examples=[1])
    attributes: dict[str, Any] = Field(
        {}, description="What the op got beside tensors.", examples=[{"dim": [0]}]
    )
    outputs: list[OutputSpec] = Field(
        [], description="All its results.", examples=[[{"dtype": "float32", "shape": [3]}]]
    )
    saved_bytes: int = Field(
        0, description="The size of what it keeps for backward, in bytes.", examples=[12]
    )
    freed: bool = Field(
        False, description="Whether a backward freed what it had kept.", examples=[False]
    )


class EdgeReply(Part):
    """An edge from an operand to what was made of it."""

    from_: str = Field(alias="from", description="The operand's node.", examples=["l1"])
    to: str = Field(description="The node it went into.", examples=["n3"])
    operand: str = Field(
        description='The parameter it was; "grad" leads to a gradient.', examples=["input"]
    )


class GraphReply(Part):
    """The graph of a session."""

    nodes: list[NodeReply] = Field(
        description="Its nodes.",
        examples=[
            [
                {
                    "id": "n3", "kind": "op", "label": "pow", "name": "y",
                    "grad_fn": "PowBackward0", "shape": [3], "dtype": "float32", "bytes": 12,
                    "step": 1, "attributes": {}, "saved_bytes": 0, "freed": False,
                    "outputs": [{"dtype": "float32", "shape": [3]}],
                }
            ]
        ],
    )  # fmt: skip
    edges: list[EdgeReply] = Field(
        description="Its edges.", examples=[[{"from": "l1", "to": "n3", "operand": "input"}]]
    )
