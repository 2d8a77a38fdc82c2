"""Normalisation over the last axes: layer norm, in one pass each way."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

from gradwire_engine.accepted import beside_input
from gradwire_engine.arrays import NAMESPACE_OF, Array
from gradwire_engine.batch.rules import by_vector, leading_of, parts
from gradwire_engine.errors import dtype_mismatch, shape_mismatch
from gradwire_engine.families import F, composite, internal
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.kernels.row_blocks import as_rows, each_block
from gradwire_engine.kernels.sums import row_products, row_sums, summed
from gradwire_engine.ops.arithmetic import add, mul, sub
from gradwire_engine.ops.beside import beside
from gradwire_engine.ops.exponential import rsqrt
from gradwire_engine.ops.power import square
from gradwire_engine.ops.reduce import mean
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Ints
from gradwire_engine.spec import Shape, Spec, float32


def check_normalized(
    asked: str, input: Any, normalized_shape: Ints, kinds: str, **affine: Any
) -> None:
    """The axes to normalise must be the input's last ones, and weight and bias have their shape."""
    lead = len(input.shape) - len(normalized_shape)
    if not normalized_shape or lead < 0 or input.shape[lead:] != normalized_shape:
        raise shape_mismatch(
            f"{asked}: normalized_shape is {list(normalized_shape)}, "
            f"the input is {list(input.shape)}",
            "normalized_shape must be the sizes of the last axes",
        )
    for name, spec in affine.items():
        if spec is not None and spec.shape != normalized_shape:
            raise shape_mismatch(
                f"{asked}: {name} is {list(spec.shape)}, "
                f"normalized_shape is {list(normalized_shape)}",
                "they must be equal",
            )
    if input.dtype.kind not in kinds:
        raise dtype_mismatch(
            f"{asked}: takes floating tensors, the input is {input.dtype.name}", "convert it first"
        )
    if kinds == "fV":
        beside_input(asked, input, **affine)


def _layer_spec(
    input: Spec, normalized_shape: Ints, weight: Spec | None, bias: Spec | None
) -> tuple[Spec, Spec, Spec]:
    check_normalized("layer_norm", input, normalized_shape, "fV", weight=weight, bias=bias)
    moments = moments_spec(input, normalized_shape)
    return input, moments, moments


def moments_spec(input: Spec, normalized_shape: Ints) -> Spec:
    """Of a number for each row: in float32 where the input is a half."""
    lead = input.shape[: len(input.shape) - len(normalized_shape)]
    wide = float32 if input.dtype.half else input.dtype
    return Spec((*lead, *[1] * len(normalized_shape)), wide, "")


def last_axes(ndim: int, count: int) -> tuple[int, ...]:
    """The last `count` axes."""
    return tuple(range(ndim - count, ndim))


def _standardized(input: Any, normalized_shape: Ints, eps: float) -> tuple[Any, Any]:
    """In ops: the input with mean 0 and variance 1, and what it was multiplied by."""
    dims = last_axes(input.ndim, len(normalized_shape))
    away = sub(input, mean(input, dims, True))
    scale = rsqrt(mean(square(away), dims, True) + eps)
    return mul(away, scale), scale


def _layer_gradients(
    g: Any, input: Any, weight: Any, center: Any, scale: Any, normalized_shape: Ints, eps: float,
    needs: tuple[bool, ...],
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The formula of the gradients: of input, weight and bias."""
    even, scale = _standardized(input, normalized_shape, eps)
    dims = last_axes(input.ndim, len(normalized_shape))
    through = g if weight is None else mul(g, weight)
    along = mul(even, mean(mul(through, even), dims, True))
    to_input = mul(scale, sub(sub(through, mean(through, dims, True)), along))
    return to_input, mul(g, even) if needs[1] else None, g if needs[2] else None


@one_pass(_layer_gradients)
def layer_norm_gradients(
    xp: Any, g: Array, input: Array, weight: Array | None, center: Array, scale: Array,
    normalized_shape: Ints, eps: float, needs: tuple[bool, ...],
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The gradients of input, weight and bias; of the latter two as sums over blocks of rows."""
    width = prod(normalized_shape)
    out = xp.empty(input.shape, input.dtype)
    to_weight: list[Array] = []
    to_bias: list[Array] = []
    row = None if weight is None else weight.reshape(1, width)

    def work(g: Array, x: Array, center: Array, scale: Array, out: Array) -> None:
        xp.subtract(x, center, out=out)  # times scale, it has mean 0 and variance 1
        if needs[1]:
            to_weight.append(xp.matmul(scale[:, 0], g * out))
        if needs[2]:
            to_bias.append(summed(g, (0,)))
        through = g if row is None else g * row
        along = row_products(xp, through, out)
        along *= scale
        along *= scale
        along /= -width
        out *= along
        out += through
        middle = row_sums(xp, through)
        middle /= width
        out -= middle
        out *= scale

    each_block(
        work, as_rows(g, width), as_rows(input, width),
        as_rows(center, 1), as_rows(scale, 1), as_rows(out, width),
    )  # fmt: skip
    return out, added_up(to_weight, normalized_shape), added_up(to_bias, normalized_shape)


def _in_one_node(
    g_out: Any, input: Any, weight: Any, bias: Any, center: Any, scale: Any, normalized_shape: Ints,
    eps: float, needs: tuple[bool, ...],
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients, which torch finds in one node: each depends on all the operands."""
    found = layer_norm_gradients(g_out, input, weight, center, scale, normalized_shape, eps, needs)
    if type(g_out) in NAMESPACE_OF:
        return found
    operands = [x for x in (input, weight, bias) if x is not None]
    name = "NativeLayerNormBackwardBackward0"
    return tuple(part if part is None else beside(part, *operands, called=name) for part in found)


def added_up(parts: list[Array], shape: Shape) -> Array | None:
    """The sum of what each block gave, in a shape; None where nothing was asked for."""
    if not parts:
        return None
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total.reshape(shape)


def _affine(
    input: Any, normalized_shape: Ints, weight: Any, bias: Any, eps: float
) -> tuple[Any, Any, Any]:
    """The same where each example has a weight or a bias of its own."""
    out, center, scale = native_layer_norm(input, normalized_shape, None, None, eps)
    out = out if weight is None else mul(out, weight)
    return out if bias is None else add(out, bias), center, scale


@internal(
    vjp(joint=_in_one_node),
    spec=_layer_spec,
    outputs=("out", "center", "scale"),
    batch=by_vector(leading_of("input"), parts(_affine), "weight", "bias"),
)
def native_layer_norm(
    xp: Any,
    input: Array,
    normalized_shape: Ints,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
) -> tuple[Array, Array, Array]:
    """The normalised input, and each row's mean and reciprocal deviation."""
    width = prod(normalized_shape)
    out = xp.empty(input.shape, input.dtype)
    shape = (*input.shape[: input.ndim - len(normalized_shape)], *[1] * len(normalized_shape))
    center, scale = xp.empty(shape, input.dtype), xp.empty(shape, input.dtype)
    root = sqrt(width)
    factor = None if weight is None else weight.reshape(1, width)
    offset = None if bias is None else bias.reshape(1, width)

    def work(x: Array, out: Array, center: Array, scale: Array) -> None:
        xp.divide(row_sums(xp, x), width, out=center)
        xp.subtract(x, center, out=out)
        squares = row_products(xp, out, out)
        squares += eps * width
        xp.divide(root, xp.sqrt(squares, out=squares), out=scale)
        out *= scale
        if factor is not None:
            out *= factor
        if offset is not None:
            out += offset

    if width:
        rows = [as_rows(input, width), as_rows(out, width)]
        each_block(work, *rows, as_rows(center, 1), as_rows(scale, 1))
    return out, center, scale


@composite(space=F)
def layer_norm(
    input: Array,
    normalized_shape: Ints,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
) -> Array:
    """Bring the last axes to mean 0 and variance 1, then apply weight and bias."""
    return native_layer_norm(input, normalized_shape, weight, bias, eps)[0]
