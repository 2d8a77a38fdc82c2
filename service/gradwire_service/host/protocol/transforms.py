"""The bodies of transforms: on a stored program, and with the program inline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from gradwire_service.host.elements import MAX_AXES
from gradwire_service.host.protocol.calls import Strategy
from gradwire_service.host.protocol.names import DTypeName, LiteralOrSession, Written
from gradwire_service.host.protocol.requests import (
    EvaluateRequest,
    Program,
    Size,
    ValueAndGradRequest,
)
from gradwire_service.host.protocol.walks import Part

Literals = dict[str, LiteralOrSession]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class EvaluateInputs(Part):
    """What to run a stored program on."""

    inputs: Literals = Field(
        description="A tensor literal for each input, or a tensor of a session.",
        examples=[{"x": [1, 2, 3]}],
    )


class Wrt(EvaluateInputs):
    """Inputs, and which of them to differentiate by."""

    wrt: list[Written] | None = Field(
        None,
        description="Inputs to differentiate by; all floating and complex ones by default.",
        examples=[["x"]],
    )


class ValueAndGradInputs(Wrt):
    """The inputs of a stored program, and what to differentiate by."""

    grad_outputs: Literals | None = Field(
        None,
        description="Cotangents of the outputs; 1 at scalars by default.",
        examples=[{"z": 1.0}],
    )


class VjpInputs(Wrt):
    """Inputs and cotangents: a vector times the jacobian."""

    cotangents: Literals | None = Field(
        None,
        description="A cotangent for each output that counts, of its shape; 1 at scalars by "
        "default.",
        examples=[{"z": 1.0}],
    )
    batched: bool = Field(
        False, description="Whether cotangents have a leading axis of many.", examples=[True]
    )


class JvpInputs(EvaluateInputs):
    """Inputs and tangents: the jacobian times a vector."""

    tangents: Literals = Field(
        description="A tangent for each input that moves, of its shape; the others stand still.",
        examples=[{"x": [1, 0, 0]}],
    )
    batched: bool = Field(
        False, description="Whether tangents have a leading axis of many.", examples=[True]
    )


class VectorInputs(EvaluateInputs):
    """Inputs and a vector for the second derivative of a scalar output."""

    vector: Literals = Field(
        description="A tensor for each input to differentiate by, of its shape; the others are "
        "constants.",
        examples=[{"x": [1, 0, 0]}],
    )


class JacobianInputs(Wrt):
    """Inputs, what to differentiate by, and how."""

    strategy: Strategy | None = Field(
        None,
        description="Column by column or row by row; by default what the shapes make cheaper.",
        examples=["forward-mode"],
    )


class GradcheckInputs(Wrt):
    """Inputs at which derivatives are compared with finite differences."""

    eps: Positive = Field(1e-6, description="The step of the differences.", examples=[1e-6])
    atol: NotNegative = Field(1e-5, description="Absolute tolerance.", examples=[1e-5])
    rtol: NotNegative = Field(1e-3, description="Relative tolerance.", examples=[1e-3])
    nondet_tol: NotNegative = Field(
        0.0, description="How far a second run may be off the first.", examples=[0.0]
    )
    check_backward_ad: bool = Field(
        True, description="Whether reverse mode is checked.", examples=[True]
    )
    check_forward_ad: bool = Field(
        False, description="Whether forward mode is checked too.", examples=[True]
    )
    check_batched_grad: bool = Field(
        False, description="Whether batched cotangents give what single ones give.", examples=[True]
    )
    check_batched_forward_grad: bool = Field(
        False, description="The same for batched tangents.", examples=[False]
    )
    fast_mode: bool = Field(
        False,
        description="Whether one random direction is compared in place of every element; `worst` "
        "is null then.",
        examples=[False],
    )


class InputSpec(Part):
    """What an input will be."""

    dtype: DTypeName = Field("float32", description="Its dtype.", examples=["float32"])
    shape: list[Size] = Field(description="Its shape.", examples=[[32, 784]], max_length=MAX_AXES)


class PlanInputs(Part):
    """Shapes and dtypes to work out a program for, without data."""

    inputs: dict[str, InputSpec] = Field(
        description="A shape for each input, and a dtype, float32 by default.",
        examples=[{"x": {"dtype": "float32", "shape": [3]}}],
    )
    transform: Literal["evaluate", "value_and_grad", "jacobian", "hessian"] = Field(
        "evaluate",
        description="What is to be run: the program, or it and a derivative.",
        examples=["value_and_grad"],
    )
    wrt: list[Written] | None = Field(
        None,
        description="Inputs to differentiate by; all floating and complex ones by default.",
        examples=[["x"]],
    )


class Inline(Part):
    """A program in the body."""

    program: Program = Field(
        description="The program.",
        examples=[{"inputs": ["x"], "source": "z = (x ** 2).sum()", "outputs": ["z"]}],
    )


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
