"""Steps of optimisers: made or changed, stepped, gradients clipped."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from gradwire_engine.optim import KINDS
from gradwire_service.host.protocol.calls import ProgramId
from gradwire_service.host.protocol.names import LiteralOrName, Out, Read, Written
from gradwire_service.host.protocol.step import StepPart

_EXAMPLES: dict[str, Any] = {"betas": [0.9, 0.999], "line_search_fn": "strong_wolfe"}
_TYPES = {bool: "boolean", int: "integer", float: "number", tuple: "array"}


def _settings(schema: dict[str, Any]) -> None:
    """Describe the settings, which the engine declares: each kind's own, by name."""
    for name in dict.fromkeys(name for kind in KINDS.values() for name in kind.settings):
        defaults = {k.name: k.settings[name] for k in KINDS.values() if name in k.settings}
        default = next(iter(defaults.values()))
        shown = ", ".join(f"{kind} {value!r}" for kind, value in defaults.items())
        found: dict[str, Any] = {"description": f"torch.optim's. Defaults: {shown}."}
        if default is not None:
            found["type"] = _TYPES[type(default)]
        if type(default) is tuple:
            found["items"] = {"type": "number"}
        found["examples"] = [_EXAMPLES.get(name, default)]
        schema["properties"][name] = found


class OptimizerStep(StepPart):
    """Make an optimiser; or, where one of this name has these parameters, change its settings."""

    word = "optimizer"
    model_config = ConfigDict(extra="allow", json_schema_extra=_settings)
    optimizer: Written = Field(description="Its name.", examples=["opt"])
    kind: str | None = Field(
        None,
        description=f"One of {', '.join(KINDS)}; needed where it is made.",
        examples=["adam"],
    )
    params: list[Read] | None = Field(
        None, description="The tensors that it changes.", examples=[["w", "b"]]
    )
    state: list[dict[str, Any]] | None = Field(
        None,
        description="What is kept of each parameter, in their order, as `GET …/optimizers` shows "
        "it: numbers, and tensors as literals or names. To go on where another one was.",
        examples=[[{"momentum_buffer": [0.1, 0.2]}]],
    )
    groups: list[dict[str, Any]] | None = Field(
        None,
        description="In place of params: groups of them, each with settings of its own.",
        examples=[[{"params": ["w"], "lr": 0.1}, {"params": ["b"]}]],
    )


class AdvanceStep(StepPart):
    """Let an optimiser change its parameters by their gradients."""

    word = "step"
    step: Written = Field(description="The optimiser's name.", examples=["opt"])
    closure: ProgramId | None = Field(
        None,
        description="The id of a program that computes the loss, for L-BFGS: it is run anew, and "
        "differentiated into `.grad` of the parameters, at each point that the optimiser tries.",
        examples=["p_0f4c2ba1d7e95836a1b2c3d4e5f60718"],
    )
    args: list[LiteralOrName] | None = Field(
        None,
        description="The closure's arguments, in order; by default what its inputs' names stand "
        "for here.",
        examples=[["w", "x"]],
    )
    out: Out | None = Field(
        None, description="A name for the loss before the step.", examples=["loss"]
    )


class ClipStep(StepPart):
    """Scale gradients so that their norm as one vector is at most max_norm."""

    word = "clip_grad_norm"
    clip_grad_norm: list[Read] = Field(
        description="The tensors whose gradients they are.", examples=[["w", "b"]]
    )
    max_norm: float = Field(description="The bound.", examples=[1.0])
    norm_type: float = Field(
        2.0, description="The order of the norm.", examples=[2.0], allow_inf_nan=False
    )
    error_if_nonfinite: bool = Field(
        False, description="Refuse a norm that is infinite or NaN.", examples=[True]
    )
    out: Written | None = Field(None, description="A name for the norm before.", examples=["norm"])
