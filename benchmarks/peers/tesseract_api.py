"""The sum of squares as a Tesseract, served by `tesseract-runtime serve`."""

# ruff: noqa: ARG001 - the interface is theirs

from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import (  # type: ignore[import-not-found]
    Array,
    Differentiable,
    Float32,
)


class InputSchema(BaseModel):
    """A vector of any length."""

    x: Differentiable[Array[(None,), Float32]]


class OutputSchema(BaseModel):
    """The sum of its squares."""

    y: Differentiable[Float32]


def apply(inputs: InputSchema) -> OutputSchema:
    """The value."""
    return OutputSchema(y=np.sum(inputs.x * inputs.x))


def vector_jacobian_product(
    inputs: InputSchema, vjp_inputs: set[str], vjp_outputs: set[str], cotangent_vector: Any
) -> dict[str, Any]:
    """The gradient times the cotangent."""
    return {"x": 2 * inputs.x * cotangent_vector["y"]}
