"""The linear layer: an affine map of the last axis."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import parts
from gradwire_engine.errors import shape_mismatch
from gradwire_engine.families import F, primitive
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.ops.arithmetic import add, conj, mul
from gradwire_engine.ops.axes import mT
from gradwire_engine.ops.expand import reshape, sum_to_shape
from gradwire_engine.ops.matmul import matmul, product, rows, same_dtype
from gradwire_engine.promote import broadcast_shapes
from gradwire_engine.rule import vjp
from gradwire_engine.spec import Shape, Spec


def _linear_spec(input: Spec, weight: Spec, bias: Spec | None) -> Spec:
    if len(weight.shape) not in (1, 2) or not input.shape or input.shape[-1] != weight.shape[-1]:
        raise shape_mismatch(
            f"linear: input is {input.shape}, weight is {weight.shape}; "
            "weight must be (out, in) or (in), with `in` the last axis of input",
            "transpose the weight?",
        )
    operands = {"input": input, "weight": weight} | ({} if bias is None else {"bias": bias})
    same_dtype("linear", **operands)
    out = (*input.shape[:-1], *weight.shape[:-1])
    if bias is not None and len(weight.shape) == 1 and len(input.shape) == 2:
        raise shape_mismatch(
            f"linear: the weight is {list(weight.shape)}, and there is a bias",
            "with a bias the weight must be a matrix: unsqueeze it",
        )
    if bias is not None and broadcast_shapes("linear, bias", out, bias.shape) != out:
        raise shape_mismatch(
            f"linear: bias is {list(bias.shape)}, the result would be {list(out)}",
            "bias has one element for each row of weight",
        )
    return Spec(out, input.dtype, "")


def _linear_node(named: dict[str, Any]) -> str:
    axes, bias = len(named["input"].shape), named["bias"] is not None
    if not bias and len(named["weight"].shape) == 1 and axes < 3:
        return "MvBackward0" if axes == 2 else "DotBackward0"
    if axes == 2:
        return "AddmmBackward0" if bias else "MmBackward0"
    return "ViewBackward0" if bias else "SqueezeBackward4" if axes == 1 else "UnsafeViewBackward0"


def _input_formula(g: Any, weight: Any) -> Any:
    if weight.ndim == 1:
        return mul(reshape(g, (*g.shape, 1)), conj(weight))
    return matmul(g, conj(weight))


@one_pass(_input_formula)
def _input_gradient(xp: Any, g: Array, weight: Array) -> Array:
    if weight.ndim == 1:
        return _input_formula(g, weight)
    return product(xp, g, conj(weight))


def _weight_formula(g: Any, input: Any, shape: Shape) -> Any:
    if len(shape) == 1:
        return matmul(reshape(g, (prod(g.shape),)), rows(conj(input)))
    return matmul(mT(rows(g)), rows(conj(input)))


@one_pass(_weight_formula)
def _weight_gradient(xp: Any, g: Array, input: Array, shape: Shape) -> Array:
    flat = conj(input).reshape(prod(input.shape[:-1]), input.shape[-1])
    if len(shape) == 1:
        return product(xp, g.reshape(flat.shape[0]), flat)
    return product(xp, g.reshape(flat.shape[0], shape[0]).T, flat)


def _layer_in_parts(input: Any, weight: Any, bias: Any) -> Any:
    found = matmul(input, weight if weight.ndim == 1 else mT(weight))
    return found if bias is None else add(found, bias)


def _layer_for_each(b: Any) -> Any:
    """Examples are further rows of one product, unless each has a layer of its own."""
    own = b.batched("weight") or b.batched("bias")
    return parts(_layer_in_parts)(b) if own else b.again(input=b.front("input"))


@primitive(
    vjp(
        "input: g conj(weight); weight: gᵀ conj(input); bias: g summed over the batch",
        input=lambda g, weight: _input_gradient(g, weight),
        weight=lambda g, input, weight_spec: _weight_gradient(g, input, weight_spec.shape),
        bias=lambda g, bias_spec: sum_to_shape(g, bias_spec.shape),
    ),
    spec=_linear_spec,
    space=F,
    grad_name=_linear_node,
    linear=("input", "weight"),
    batch=_layer_for_each,
    itself=lambda input, weight, *bias: (input.ndim == 2, False, True)[: 2 + len(bias)],
)
def linear(xp: Any, input: Array, weight: Array, bias: Array | None = None) -> Array:
    """Apply an affine map to the last axis: input weightᵀ + bias."""
    out = product(xp, input, weight.T)
    if bias is None:
        return out
    return xp.add(out, bias, out=out) if out.shape else out + bias
