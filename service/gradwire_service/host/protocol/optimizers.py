"""Steps of optimisers: made or changed, stepped, gradients clipped."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from gradwire_engine.optim import KINDS
from gradwire_service.host.protocol.calls import ProgramId
from gradwire_service.host.protocol.names import LiteralOrName, Out, Read, Written, field, optional
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
    optimizer: Written = field("Its name.", "opt")
    kind: str | None = optional(f"One of {', '.join(KINDS)}; needed where it is made.", "adam")
    params: list[Read] | None = optional("The tensors that it changes.", ["w", "b"])
    state: list[dict[str, Any]] | None = optional(
        "What is kept of each parameter, in their order, as `GET …/optimizers` shows it: numbers, "
        "and tensors as literals or names. To go on where another one was.",
        [{"momentum_buffer": [0.1, 0.2]}],
    )
    groups: list[dict[str, Any]] | None = optional(
        "In place of params: groups of them, each with settings of its own.",
        [{"params": ["w"], "lr": 0.1}, {"params": ["b"]}],
    )


class AdvanceStep(StepPart):
    """Let an optimiser change its parameters by their gradients."""

    word = "step"
    step: Written = field("The optimiser's name.", "opt")
    closure: ProgramId | None = optional(
        "The id of a program that computes the loss, for L-BFGS: it is run anew, and "
        "differentiated into `.grad` of the parameters, at each point that the optimiser tries.",
        "p_0f4c2ba1d7e95836a1b2c3d4e5f60718",
    )
    args: list[LiteralOrName] | None = optional(
        "The closure's arguments, in order; by default what its inputs' names stand for here.",
        ["w", "x"],
    )
    out: Out | None = optional("A name for the loss before the step.", "loss")


class ClipStep(StepPart):
    """Scale gradients so that their norm as one vector is at most max_norm."""

    word = "clip_grad_norm"
    clip_grad_norm: list[Read] = field("The tensors whose gradients they are.", ["w", "b"])
    max_norm: float = field("The bound.", 1.0)
    norm_type: float = field("The order of the norm.", 2.0, default=2.0, allow_inf_nan=False)
    error_if_nonfinite: bool = field("Refuse a norm that is infinite or NaN.", True, default=False)
    out: Written | None = optional("A name for the norm before.", "norm")
