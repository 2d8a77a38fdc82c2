"""What the server says of itself and of its catalogue, and what errors look like, for OpenAPI."""

from __future__ import annotations

from typing import Any

from gradwire_service.host.limits import Limits
from gradwire_service.host.protocol.names import field
from gradwire_service.http.replies import Part

_PARAMETER = {
    "name": "input", "type": "tensor", "optional": False, "keyword_only": False, "required": True,
}  # fmt: skip
_CALL = "input = tensor([0.0, 1.0]); sin(input) -> [0.0, 0.8415]"
_SIN = {
    "name": "sin", "aliases": [], "doc": "The sine of each element.", "signatures": [],
    "example": _CALL, "formula": "g · cos(x)", "saves": ["input"], "fuses": True, "inplace": True,
    "data_dependent": False,
}  # fmt: skip


class ParameterReply(Part):
    """A parameter of an op."""

    name: str = field("Its name, as in torch.", "dim")
    type: str = field(
        "What it takes: tensor, tensors, index, int, dim, ints, dims, float, number, bool, str, "
        "dtype, device or data.",
        "dims",
    )
    optional: bool = field("Whether null is taken.", True)
    keyword_only: bool = field("Whether it goes by name only.", False)
    required: bool = field("Whether it has no default.", False)
    default: Any = field("Its default.", None, default=None)


class SignatureReply(Part):
    """One way to call an op; the first one that fits is taken."""

    text: str = field("The signature in one line.", "(input: tensor, dim: dim = 0)")
    parameters: list[ParameterReply] = field("Its parameters, in order.", [_PARAMETER])


class OpReply(Part):
    """An op of the catalogue."""

    name: str = field("Its name: torch's path without torch.", "sin")
    aliases: list[str] = field("Its other names.", ["special.sin"])
    doc: str = field("What it does.", "The sine of each element.")
    signatures: list[SignatureReply] = field(
        "How it is called.", [{"text": "(input: tensor)", "parameters": []}]
    )
    example: str | None = field(
        "A call as source text, with what it gives after the arrow; x.grad for results whose "
        "elements have the gradients 1, 2, 3, …",
        _CALL,
    )
    formula: str | None = field(
        "Its derivative as a formula; null where it is made of other ops.", "g · cos(x)"
    )
    saves: list[str] = field("Which operands and results it keeps for backward.", ["input"])
    fuses: bool = field("Whether it may be fused with its neighbours.", True)
    inplace: bool = field("Whether it has an in-place form, by its name with _ at the end.", True)
    data_dependent: bool = field("Whether the shape of its result depends on elements.", False)


class OpsReply(Part):
    """The catalogue."""

    items: list[OpReply] = field("Every op, by name.", [_SIN])


class InfoReply(Part):
    """What this server is and can."""

    version: str = field("Its version.", "0.1.0")
    catalogue: str = field(
        "Changes when a name or a signature of the catalogue does.", "52fbf267ea7f6ac7"
    )
    ops: int = field("How many ops there are.", 300)
    devices: list[str] = field("Where tensors can live.", ["cpu"])
    dtypes: list[str] = field("The dtypes.", ["float32", "int64"])
    limits: Limits = field(
        "Every limit; each is set by GRADWIRE_ and its name in capitals.", Limits().model_dump()
    )


class WelcomeReply(Part):
    """What this is, and where to go on."""

    service: str = field("Its name.", "gradwire")
    about: str = field("What it does.", "Autograd as a service.")
    version: str = field("Its version.", "0.1.0")
    links: dict[str, str] = field("Paths to go on from, by what is there.", {"contract": "/docs"})


class HealthReply(Part):
    """A sign of life."""

    status: str = field("live or ready.", "ready")


class Problem(Part):
    """An error, as RFC 9457 has it."""

    type: str = field(
        "A page that this server has, with cause, example and way out.", "/errors/graph_freed"
    )
    title: str = field("The code in words.", "Graph freed")
    status: int = field("The HTTP status.", 409)
    code: str = field("The code.", "graph_freed")
    detail: str = field(
        "What was asked, and what came in.",
        "backward: the saved tensors of PowBackward0 (step 1, tensor y) were freed",
    )
    hint: str | None = field("How to mend it.", "pass retain_graph=true to the first call")
    step: int | None = field("The step that failed, from 0.", 3)
    op: str | None = field("The op of that step.", "pow")
    raised: str = field("The Python class that torch raises in this place.", "RuntimeError")
    request_id: str = field(
        "The request's id, as in the header X-Request-Id and the log.", "r_4f1d2c3b5a697887"
    )
