"""Normalisation by the root mean square of the last axes, in one pass each way."""

from __future__ import annotations

from math import prod
from typing import Any

import ml_dtypes

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import by_vector, leading_of, parts
from gradwire_engine.families import F, composite, internal
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.kernels.row_blocks import as_rows, each_block
from gradwire_engine.ops.arithmetic import conj, mul, sub
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.exponential import rsqrt
from gradwire_engine.ops.normalize import added_up, check_normalized, last_axes, moments_spec
from gradwire_engine.ops.power import square
from gradwire_engine.ops.reduce import mean
from gradwire_engine.order import alone, lying_of
from gradwire_engine.rule import vjp
from gradwire_engine.signature import VALUE_TYPES, Ints
from gradwire_engine.spec import DTYPES, Spec
from gradwire_engine.tensor import TURNED, Tensor

FLOAT32 = DTYPES["float32"]
EPSILON = {
    name: float(ml_dtypes.finfo(computed).eps)
    for name, computed in {
        "float16": "float32", "bfloat16": "float32", "float32": "float32", "float64": "float64",
    }.items()
}  # fmt: skip
"""What rms_norm adds where no eps is given: the distance from 1 to the next number that there is
in the dtype that it computes in.
"""


def _rms_spec(input: Spec, normalized_shape: Ints, weight: Spec | None) -> tuple[Spec, Spec]:
    check_normalized("rms_norm", input, normalized_shape, "fVc", weight=weight)
    return input, moments_spec(input, normalized_shape)


def _rms_gradients(
    g: Any, input: Any, weight: Any, scale: Any, normalized_shape: Ints, eps: float,
    needs: tuple[bool, ...],
) -> tuple[Any, Any]:  # fmt: skip
    """The formula of the gradients: of input and weight; for complex ones as for holomorphic."""
    dims = last_axes(input.ndim, len(normalized_shape))
    scale = rsqrt(mean(square(input), dims, True) + eps)
    even = mul(input, scale)
    through = g if weight is None else mul(g, conj(weight))
    along = mul(conj(even), mean(mul(through, conj(even)), dims, True))
    to_input = mul(conj(scale), sub(through, along))
    return to_input, mul(g, conj(even)) if needs[1] else None


@one_pass(_rms_gradients)
def rms_norm_gradients(
    xp: Any, g: Array, input: Array, weight: Array | None, scale: Array,
    normalized_shape: Ints, eps: float, needs: tuple[bool, ...],
) -> tuple[Any, Any]:  # fmt: skip
    """The gradients of input and weight, of the latter as sums over blocks of rows."""
    if input.dtype.kind == "c":
        return _rms_gradients(g, input, weight, scale, normalized_shape, eps, needs)
    width = prod(normalized_shape)
    out = xp.empty(input.shape, input.dtype)
    to_weight: list[Array] = []
    row = None if weight is None else weight.reshape(1, width)

    def work(g: Array, x: Array, scale: Array, out: Array) -> None:
        if needs[1]:
            to_weight.append(xp.einsum("ij,ij->j", g, x * scale))
        through = g if row is None else g * row
        # in torch's order of steps, as the two parts all but cancel in a short row
        along = xp.einsum("ij,ij->i", through, x)[:, None] * (scale * scale * scale)
        xp.multiply(through, scale, out=out)
        out -= x * (along / width)

    rows = [as_rows(a, width) for a in (g, input)]
    each_block(work, *rows, as_rows(scale, 1), as_rows(out, width))
    return out, added_up(to_weight, normalized_shape)


def _joint(
    g_out: Any, input: Any, weight: Any, scale: Any, normalized_shape: Ints, eps: float,
    needs: tuple[bool, ...],
) -> tuple[Any, Any]:  # fmt: skip
    """The gradients; recorded ones of halves lead back to float32 copies, which torch keeps.

    A write to the operands is then no matter to what is walked later.
    """
    if type(input) in VALUE_TYPES and input.dtype.half:
        g_out, input, weight, scale = [
            x if x is None else to_dtype(x, FLOAT32) for x in (g_out, input, weight, scale)
        ]
    return rms_norm_gradients(g_out, input, weight, scale, normalized_shape, eps, needs)


def _weighted(input: Any, normalized_shape: Ints, weight: Any, eps: float) -> tuple[Any, Any]:
    """The same where each example has a weight of its own."""
    out, scale = native_rms_norm(input, normalized_shape, None, eps)
    return mul(out, weight), scale


@internal(
    vjp(joint=_joint),
    spec=_rms_spec,
    outputs=("out", "scale"),
    grad_name=lambda named: (
        "MulBackward0" if named["input"].dtype.itemsize > 2 else "ToCopyBackward0"
    ),
    batch=by_vector(leading_of("input"), parts(_weighted), "weight"),
)
def native_rms_norm(
    xp: Any, input: Array, normalized_shape: Ints, weight: Array | None, eps: float
) -> tuple[Array, Array]:
    """The input divided by its root mean square, and each row's reciprocal of that."""
    dims = last_axes(input.ndim, len(normalized_shape))
    squares = input * input
    size = squares.mean if squares.size else squares.sum  # there is no mean of nothing
    scale = 1 / xp.sqrt(size(axis=dims, keepdims=True) + eps)
    out = input * scale
    return out if weight is None else out * weight, scale


@composite(space=F)
def rms_norm(
    input: Array, normalized_shape: Ints, weight: Array | None = None, eps: float | None = None
) -> Array:
    """Divide the last axes by their root mean square, then apply weight."""
    small = EPSILON.get(input.dtype.name, 0.0) if eps is None else eps
    if _weight_alone(input, weight):
        check_normalized("rms_norm", input, normalized_shape, "fVc", weight=weight)
        found = mul(native_rms_norm(input, normalized_shape, None, small)[0], weight)
    else:
        found = native_rms_norm(input, normalized_shape, weight, small)[0]
    node = found.grad_fn if type(found) is Tensor else None
    if node is not None and _copied_into_rows(input):
        node.annotate().label = "CloneBackward0"
    return found


def _weight_alone(input: Any, weight: Any) -> bool:
    """Whether a gradient goes to the weight alone, for which nothing is kept of the operands."""
    if type(input) is not Tensor or type(weight) is not Tensor or input.dtype.half:
        return False
    return weight.requires_grad and not input.requires_grad


def _copied_into_rows(input: Any) -> bool:
    """Whether the product lies in another order, which torch copies into rows at the end."""
    if type(input) is not Tensor or not input.flags & TURNED or input.dtype.half:
        return False
    order = alone(lying_of(input.array)) or ()
    leading = [axis for axis in order if input.shape[axis] > 1]  # others lie anywhere
    return leading != sorted(leading)
