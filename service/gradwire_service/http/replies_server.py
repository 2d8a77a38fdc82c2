"""What the server says of itself and of its catalogue, and what errors look like, for OpenAPI."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from gradwire_service.host.limits import Limits
from gradwire_service.http.replies import Part


class ParameterReply(Part):
    """A parameter of an op."""

    name: str = Field(description="Its name, as in torch.", examples=["dim"])
    type: str = Field(
        description="What it takes: tensor, tensors, index, int, dim, ints, dims, float, number, "
        "bool, str, dtype, device or data.",
        examples=["dims"],
    )
    optional: bool = Field(description="Whether null is taken.", examples=[True])
    keyword_only: bool = Field(description="Whether it goes by name only.", examples=[False])
    required: bool = Field(description="Whether it has no default.", examples=[False])
    default: Any = Field(None, description="Its default.", examples=[None])


class SignatureReply(Part):
    """One way to call an op; the first one that fits is taken."""

    text: str = Field(
        description="The signature in one line.", examples=["(input: tensor, dim: dim = 0)"]
    )
    parameters: list[ParameterReply] = Field(
        description="Its parameters, in order.",
        examples=[
            [
                {
                    "name": "input", "type": "tensor", "optional": False, "keyword_only": False,
                    "required": True,
                }
            ]
        ],
    )  # fmt: skip


class OpReply(Part):
    """An op of the catalogue."""

    name: str = Field(description="Its name: torch's path without torch.", examples=["sin"])
    aliases: list[str] = Field(description="Its other names.", examples=[["special.sin"]])
    doc: str = Field(description="What it does.", examples=["The sine of each element."])
    signatures: list[SignatureReply] = Field(
        description="How it is called.",
        examples=[[{"text": "(input: tensor)", "parameters": []}]],
    )
    example: str | None = Field(
        description="A call as source text, with what it gives after the arrow; x.grad for results "
        "whose elements have the gradients 1, 2, 3, …",
        examples=["input = tensor([0.0, 1.0]); sin(input) -> [0.0, 0.8415]"],
    )
    formula: str | None = Field(
        description="Its derivative as a formula; null where it is made of other ops.",
        examples=["g · cos(x)"],
    )
    saves: list[str] = Field(
        description="Which operands and results it keeps for backward.", examples=[["input"]]
    )
    fuses: bool = Field(description="Whether it may be fused with its neighbours.", examples=[True])
    inplace: bool = Field(
        description="Whether it has an in-place form, by its name with _ at the end.",
        examples=[True],
    )
    data_dependent: bool = Field(
        description="Whether the shape of its result depends on elements.", examples=[False]
    )


class OpsReply(Part):
    """The catalogue."""

    items: list[OpReply] = Field(
        description="Every op, by name.",
        examples=[
            [
                {
                    "name": "sin", "aliases": [], "doc": "The sine of each element.",
                    "signatures": [],
                    "example": "input = tensor([0.0, 1.0]); sin(input) -> [0.0, 0.8415]",
                    "formula": "g · cos(x)", "saves": ["input"], "fuses": True,
                    "inplace": True, "data_dependent": False,
                }
            ]
        ],
    )  # fmt: skip


class InfoReply(Part):
    """What this server is and can."""

    version: str = Field(description="Its version.", examples=["0.1.0"])
    catalogue: str = Field(
        description="Changes when a name or a signature of the catalogue does.",
        examples=["52fbf267ea7f6ac7"],
    )
    ops: int = Field(description="How many ops there are.", examples=[300])
    devices: list[str] = Field(description="Where tensors can live.", examples=[["cpu"]])
    dtypes: list[str] = Field(description="The dtypes.", examples=[["float32", "int64"]])
    limits: Limits = Field(
        description="Every limit; each is set by GRADWIRE_ and its name in capitals.",
        examples=[Limits().model_dump()],
    )


class WelcomeReply(Part):
    """What this is, and where to go on."""

    service: str = Field(description="Its name.", examples=["gradwire"])
    about: str = Field(description="What it does.", examples=["Autograd as a service."])
    version: str = Field(description="Its version.", examples=["0.1.0"])
    links: dict[str, str] = Field(
        description="Paths to go on from, by what is there.", examples=[{"contract": "/docs"}]
    )


class HealthReply(Part):
    """A sign of life."""

    status: str = Field(description="live or ready.", examples=["ready"])


class Problem(Part):
    """An error, as RFC 9457 has it."""

    type: str = Field(
        description="A page that this server has, with cause, example and way out.",
        examples=["/errors/graph_freed"],
    )
    title: str = Field(description="The code in words.", examples=["Graph freed"])
    status: int = Field(description="The HTTP status.", examples=[409])
    code: str = Field(description="The code.", examples=["graph_freed"])
    detail: str = Field(
        description="What was asked, and what came in.",
        examples=["backward: the saved tensors of PowBackward0 (step 1, tensor y) were freed"],
    )
    hint: str | None = Field(
        description="How to mend it.", examples=["pass retain_graph=true to the first call"]
    )
    step: int | None = Field(description="The step that failed, from 0.", examples=[3])
    op: str | None = Field(description="The op of that step.", examples=["pow"])
    raised: str = Field(
        description="The Python class that torch raises in this place.", examples=["RuntimeError"]
    )
    request_id: str = Field(
        description="The request's id, as in the header X-Request-Id and the log.",
        examples=["r_4f1d2c3b5a697887"],
    )
