"""Maps along one axis: its size changed by interpolation, or by the means of its parts."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import along
from gradwire_engine.families import internal
from gradwire_engine.kernels.resizing import resized, resized_back
from gradwire_engine.rule import vjp
from gradwire_engine.spec import Spec


def _with_size(input: Spec, axis: int, size: int) -> Spec:
    return input.with_(shape=(*input.shape[:axis], size, *input.shape[axis + 1 :]))


@internal(
    vjp(
        input=lambda g, axis, mode, corners, scale, input_spec: along_axis_back(
            g, axis, input_spec.shape[axis], mode, corners, scale
        )
    ),
    spec=lambda input, axis, size: _with_size(input, axis, size),
    linear=True,
    batch=along("axis"),
    formula="g mapped back along the axis",
)
def along_axis(
    xp: Any, input: Array, axis: int, size: int, mode: str, corners: bool, scale: float | None
) -> Array:
    """An axis brought to another size, each result a sum of a few weighted elements.

    corners: the first and last elements stay where they are. scale: results for an element, where
    that is not the ratio of the sizes.
    """
    return resized(xp, input, axis, size, mode, corners, scale)


@internal(
    vjp(
        input=lambda g, axis, mode, corners, scale, input_spec: along_axis(
            g, axis, input_spec.shape[axis], mode, corners, scale
        )
    ),
    spec=lambda input, axis, size: _with_size(input, axis, size),
    linear=True,
    batch=along("axis"),
    formula="g mapped along the axis",
)
def along_axis_back(
    xp: Any, input: Array, axis: int, size: int, mode: str, corners: bool, scale: float | None
) -> Array:
    """The transposed map: results added to what they were sums of."""
    return resized_back(xp, input, axis, size, mode, corners, scale)
