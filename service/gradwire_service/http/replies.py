"""What replies look like, for OpenAPI: the host makes them, nothing is validated with these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gradwire_service.host.protocol.names import DTypeName, field, optional
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
_ITEM = {
    "name": "w", "dtype": "float32", "shape": [3], "device": "cpu", "bytes": 12,
    "requires_grad": True, "is_leaf": True, "has_grad": False,
}  # fmt: skip
_SPEC = {"dtype": "float32", "shape": [3]}
_NODE = {
    "id": "n3", "kind": "op", "label": "pow", "name": "y", "grad_fn": "PowBackward0",
    "shape": [3], "dtype": "float32", "bytes": 12, "step": 1, "attributes": {}, "saved_bytes": 0,
    "freed": False, "outputs": [_SPEC],
}  # fmt: skip

Shape = Annotated[
    list[int], Field(description="Length of each axis; [] is a single number.", examples=[[2, 3]])
]


class Part(BaseModel):
    """A piece of a reply."""

    model_config = ConfigDict(extra="forbid")


class TensorReply(Part):
    """A tensor. Beside `data` may stand `base64` (with ?data=base64) or `binary`, or nothing."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_TENSOR]})

    name: str | None = field("Its name in the session.", "z")
    dtype: DTypeName = field("The type of its elements.", "float32")
    shape: Shape
    device: str = field("Where it lives.", "cpu")
    requires_grad: bool = field("Whether gradients flow through it.", True)
    is_leaf: bool = field("Whether no op of the graph made it.", False)
    grad_fn: str | None = field("PyTorch's name of the node that made it.", "PowBackward0")
    version: int = field("How often it was written in place.", 0)
    data: Any = optional(
        "Its elements, nested by shape; a complex number is [re, im], and numbers that JSON lacks "
        "are NaN, Infinity and -Infinity as strings.",
        14.0,
    )
    base64: str = field("Its elements as little-endian bytes, row by row.", "AABgQQ==", default="")
    binary: str = field("The array of the safetensors body that holds them.", "z", default="")


class ProfileRow(Part):
    """All uses of one op, node or kind of step; what ran within it has rows of its own."""

    kind: Literal["op", "node", "step"] = field(
        "An op step, a node of a walk, or any other step.", "op"
    )
    name: str = field("The op, the node as PyTorch calls it, or the step's word.", "pow")
    count: int = field("How often it ran.", 1)
    seconds: float = field("What it took.", 0.000012)
    bytes: int = field("Bytes it asked for.", 12)


class ProfileReply(Part):
    """What the ops of a request took, those that took longest first."""

    seconds: float = field("What the request took, its values read.", 0.0002)
    bytes: int = field("Bytes it asked for.", 40)
    rows: list[ProfileRow] = field("By op, node and kind of step.", [_ROW])


class ValuesReply(Part):
    """What a request that ran steps returns."""

    values: dict[str, TensorReply | None] = field(
        "The tensors that `return` named; null for an absent gradient.",
        {"z": _TENSOR, "x.grad": _GRAD},
    )
    profile: ProfileReply | None = optional(
        "What each op took, where `profile` asked for it; else it is not there.",
        {"seconds": 0.0002, "bytes": 40, "rows": [_ROW]},
    )


class GradsReply(Part):
    """Gradients in the order of `inputs`."""

    grads: list[TensorReply | None] = field(
        "One for each input; null where the outputs don't depend on it.", [_GRAD]
    )
    values: dict[str, TensorReply | None] = field(
        "What `return` named, where it named anything.", {"z": _TENSOR}, default={}
    )
    profile: ProfileReply | None = optional(
        "What each op took, where `profile` asked for it; else it is not there.",
        {"seconds": 0.0002, "bytes": 40, "rows": [_ROW]},
    )


class EvaluateReply(Part):
    """The outputs of a program."""

    outputs: dict[str, TensorReply] = field("Each output of the program.", {"z": _TENSOR})


class ValueAndGradReply(EvaluateReply):
    """The outputs of a program and their gradients."""

    grads: dict[str, TensorReply | None] = field(
        "By input; null where the outputs don't depend on it.", {"x": _GRAD | {"name": "x"}}
    )


class OptimizerItem(Part):
    """One optimiser."""

    name: str = field("Its name.", "opt")
    kind: str = field("What it is.", "sgd")
    groups: list[dict[str, Any]] = field(
        "Names of parameters, null for one without a name now, and their settings.",
        [{"params": ["w"], "lr": 0.1}],
    )
    state: list[dict[str, Any]] = field(
        "What it keeps of each parameter: numbers, and tensors of its shape.",
        [{"param": "w", "step": 3, "exp_avg": _GRAD | {"name": None}}],
    )


class OptimizersReply(Part):
    """The optimisers of a session."""

    items: list[OptimizerItem] = field(
        "Each of them, oldest first.", [{"name": "opt", "kind": "sgd", "groups": [], "state": []}]
    )


class BytesReply(Part):
    """Bytes held, by what they are for."""

    values: int = field("By tensors that have names.", 28)
    saved: int = field("By the graph alone, for backward.", 0)
    grads: int = field("By gradients.", 12)
    total: int = field("All of it.", 40)
    overhead: int = field(
        "What tensors, nodes and views take beside elements, about; it counts towards the "
        "session's limit.",
        2752,
    )
    peak: int = field(
        "The most that was held at any time, counted as if nothing that a step made had been freed "
        "before the step's end.",
        64,
    )


class SessionItem(Part):
    """A session, in short."""

    id: str = field("Its id.", _SESSION["id"])
    label: str | None = field("What you call it.", "digits")
    device: str = field("Where its tensors live.", "cpu")
    dtype: DTypeName = field("Its default dtype.", "float32")
    created: str = field("When it was made, in UTC.", _SESSION["created"])
    last_use: str = field("When it was last used.", _SESSION["last_use"])
    expires: str = field("When it expires if nobody uses it.", _SESSION["expires"])
    ttl_seconds: float = field("Seconds without a request after which it expires.", 3600)
    memory_limit_bytes: int = field("Bytes it may hold at most.", 4294967296)
    detect_anomaly: bool = field("Whether its walks search for NaN.", False)
    durable: bool = field("Whether it outlives the server.", True)
    parked: bool = field("Whether it left memory for the disk, until the next request.", False)
    tensors: int = field("How many names it has.", 3)


class SessionReply(SessionItem):
    """A session."""

    random: RandomState | None = field(
        "Where its random numbers come from; null while it is parked.", {"seed": 7, "draws": 2}
    )
    nodes: int = field("Nodes of its graph.", 2)
    bytes: BytesReply = field("Bytes it holds, counted exactly.", _BYTES)


class SessionsReply(Part):
    """A page of sessions, oldest first."""

    items: list[SessionItem] = field("The sessions.", [_SESSION])
    next: str | None = field("The cursor of the next page; null at the end.", "42", None)


class TensorItem(Part):
    """A tensor, in short."""

    name: str = field("Its name.", "w")
    dtype: DTypeName = field("The type of its elements.", "float32")
    shape: Shape
    device: str = field("Where it lives.", "cpu")
    bytes: int = field("The size of its elements in bytes.", 12)
    requires_grad: bool = field("Whether gradients flow through it.", True)
    is_leaf: bool = field("Whether no op of the graph made it.", True)
    has_grad: bool = field("Whether it has a gradient.", False)


class TensorsReply(Part):
    """The tensors of a session, by name."""

    items: list[TensorItem] = field("The tensors.", [_ITEM])


class OutputSpec(Part):
    """What one result of a node is."""

    dtype: DTypeName = field("Its dtype.", "float32")
    shape: Shape


class NodeReply(Part):
    """A node of the graph: a leaf, a constant, an op or a gradient."""

    id: str = field("Its id, for the edges.", "n3")
    kind: Literal["leaf", "constant", "op", "gradient", "output"] = field(
        "What it is; an output is a named op that nothing else was made of.", "op"
    )
    label: str = field("The op, or the name of a leaf.", "pow")
    name: str | None = field("The names of its tensor.", "y")
    grad_fn: str | None = field("PyTorch's name for the node.", "PowBackward0")
    shape: Shape
    dtype: DTypeName = field("Its dtype.", "float32")
    bytes: int = field("The size of its results in bytes.", 12)
    step: int | None = field("The step of the request that made it.", 1)
    attributes: dict[str, Any] = field("What the op got beside tensors.", {"dim": [0]}, default={})
    outputs: list[OutputSpec] = field(
        "All its results.", [{"dtype": "float32", "shape": [3]}], default=[]
    )
    saved_bytes: int = field("The size of what it keeps for backward, in bytes.", 12, default=0)
    freed: bool = field("Whether a backward freed what it had kept.", False, default=False)


class EdgeReply(Part):
    """An edge from an operand to what was made of it."""

    from_: str = field("The operand's node.", "l1", alias="from")
    to: str = field("The node it went into.", "n3")
    operand: str = field('The parameter it was; "grad" leads to a gradient.', "input")


class GraphReply(Part):
    """The graph of a session."""

    nodes: list[NodeReply] = field("Its nodes.", [_NODE])
    edges: list[EdgeReply] = field("Its edges.", [{"from": "l1", "to": "n3", "operand": "input"}])
