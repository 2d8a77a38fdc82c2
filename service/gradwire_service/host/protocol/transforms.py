"""The bodies of transforms: on a stored program, and with the program inline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from gradwire_service.host.elements import MAX_AXES
from gradwire_service.host.protocol.calls import Strategy
from gradwire_service.host.protocol.names import (
    DTypeName,
    LiteralOrSession,
    Written,
    field,
    optional,
)
from gradwire_service.host.protocol.requests import Program, Size
from gradwire_service.host.protocol.walks import Part

Literals = dict[str, LiteralOrSession]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class EvaluateInputs(Part):
    """What to run a stored program on."""

    inputs: Literals = field(
        "A tensor literal for each input, or a tensor of a session.", {"x": [1, 2, 3]}
    )


class Wrt(EvaluateInputs):
    """Inputs, and which of them to differentiate by."""

    wrt: list[Written] | None = optional(
        "Inputs to differentiate by; all floating and complex ones by default.", ["x"]
    )


class ValueAndGradInputs(Wrt):
    """The inputs of a stored program, and what to differentiate by."""

    grad_outputs: Literals | None = optional(
        "Cotangents of the outputs; 1 at scalars by default.", {"z": 1.0}
    )


class VjpInputs(Wrt):
    """Inputs and cotangents: a vector times the jacobian."""

    cotangents: Literals | None = optional(
        "A cotangent for each output that counts, of its shape; 1 at scalars by default.",
        {"z": 1.0},
    )
    batched: bool = field("Whether cotangents have a leading axis of many.", True, default=False)


class JvpInputs(EvaluateInputs):
    """Inputs and tangents: the jacobian times a vector."""

    tangents: Literals = field(
        "A tangent for each input that moves, of its shape; the others stand still.",
        {"x": [1, 0, 0]},
    )
    batched: bool = field("Whether tangents have a leading axis of many.", True, default=False)


class VectorInputs(EvaluateInputs):
    """Inputs and a vector for the second derivative of a scalar output."""

    vector: Literals = field(
        "A tensor for each input to differentiate by, of its shape; the others are constants.",
        {"x": [1, 0, 0]},
    )


class JacobianInputs(Wrt):
    """Inputs, what to differentiate by, and how."""

    strategy: Strategy | None = optional(
        "Column by column or row by row; by default what the shapes make cheaper.", "forward-mode"
    )


class GradcheckInputs(Wrt):
    """Inputs at which derivatives are compared with finite differences."""

    eps: Positive = field("The step of the differences.", 1e-6, default=1e-6)
    atol: NotNegative = field("Absolute tolerance.", 1e-5, default=1e-5)
    rtol: NotNegative = field("Relative tolerance.", 1e-3, default=1e-3)
    nondet_tol: NotNegative = field("How far a second run may be off the first.", 0.0, default=0.0)
    check_backward_ad: bool = field("Whether reverse mode is checked.", True, default=True)
    check_forward_ad: bool = field("Whether forward mode is checked too.", True, default=False)
    check_batched_grad: bool = field(
        "Whether batched cotangents give what single ones give.", True, default=False
    )
    check_batched_forward_grad: bool = field("The same for batched tangents.", False, default=False)
    fast_mode: bool = field(
        "Whether one random direction is compared in place of every element; `worst` is null then.",
        False,
        default=False,
    )


class InputSpec(Part):
    """What an input will be."""

    dtype: DTypeName = field("Its dtype.", "float32", default="float32")
    shape: list[Size] = field("Its shape.", [32, 784], max_length=MAX_AXES)


class PlanInputs(Part):
    """Shapes and dtypes to work out a program for, without data."""

    inputs: dict[str, InputSpec] = field(
        "A shape for each input, and a dtype, float32 by default.",
        {"x": {"dtype": "float32", "shape": [3]}},
    )
    transform: Literal["evaluate", "value_and_grad", "jacobian", "hessian"] = field(
        "What is to be run: the program, or it and a derivative.",
        "value_and_grad",
        default="evaluate",
    )
    wrt: list[Written] | None = optional(
        "Inputs to differentiate by; all floating and complex ones by default.", ["x"]
    )


class Inline(Part):
    """A program in the body."""

    program: Program = field(
        "The program.", {"inputs": ["x"], "source": "z = (x ** 2).sum()", "outputs": ["z"]}
    )


class EvaluateRequest(EvaluateInputs, Inline):
    """A program and what to run it on."""


class ValueAndGradRequest(ValueAndGradInputs, EvaluateRequest):
    """A program, its inputs, and what to differentiate by."""


class VjpRequest(VjpInputs, Inline):
    """A program, its inputs and cotangents."""


class JvpRequest(JvpInputs, Inline):
    """A program, its inputs and tangents."""


class VectorRequest(VectorInputs, Inline):
    """A program, its inputs and a vector."""


class JacobianRequest(JacobianInputs, Inline):
    """A program, its inputs, and what to differentiate by."""


class GradcheckRequest(GradcheckInputs, Inline):
    """A program, and inputs at which its derivatives are checked."""


class PlanRequest(PlanInputs, Inline):
    """A program, and shapes to work it out for."""


class Bodies(NamedTuple):
    """The bodies of one transform: for a stored program, and with one inline."""

    stored: type[Part]
    inline: type[Part]


TRANSFORMS: Mapping[str, Bodies] = {
    "evaluate": Bodies(EvaluateInputs, EvaluateRequest),
    "value_and_grad": Bodies(ValueAndGradInputs, ValueAndGradRequest),
    "vjp": Bodies(VjpInputs, VjpRequest),
    "jvp": Bodies(JvpInputs, JvpRequest),
    "hvp": Bodies(VectorInputs, VectorRequest),
    "vhp": Bodies(VectorInputs, VectorRequest),
    "jacobian": Bodies(JacobianInputs, JacobianRequest),
    "hessian": Bodies(JacobianInputs, JacobianRequest),
    "plan": Bodies(PlanInputs, PlanRequest),
    "gradcheck": Bodies(GradcheckInputs, GradcheckRequest),
    "gradgradcheck": Bodies(GradcheckInputs, GradcheckRequest),
}
"""Each transform with its bodies."""
