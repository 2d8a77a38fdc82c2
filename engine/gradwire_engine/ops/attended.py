"""Attention without a mask or with the causal one, in one pass each way."""

from __future__ import annotations

from math import inf
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.families import internal
from gradwire_engine.kernels import attending
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.ops.arithmetic import mul, sub
from gradwire_engine.ops.axes import mT
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.expand import sum as summed
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.sequences import arange_from
from gradwire_engine.ops.softmax import softmax_gradient, softmax_spec
from gradwire_engine.rule import vjp
from gradwire_engine.spec import Spec, float32


def causal_mask(query: Any, rows: int, columns: int) -> Any:
    """True where a position may look: at itself and at what came before."""
    row = arange_from(0, rows, device=query.device)
    return reshape(row, (rows, 1)) >= arange_from(0, columns, device=query.device)


@internal(
    vjp("softmax's", input=lambda g, out: softmax_gradient(g, out, out.ndim - 1)),
    spec=lambda input: softmax_spec(input, None),
    batch=leading,
)
def safe_softmax(xp: Any, input: Array) -> Array:
    """softmax over the last axis; zeros where every score is -inf."""
    if not input.shape[-1]:
        return xp.zeros_like(input)
    top = input.max(axis=-1, keepdims=True)
    blind = xp.equal(top, -inf)
    out = xp.exp(xp.subtract(input, xp.where(blind, 0, top)))
    out /= xp.where(blind, 1, out.sum(axis=-1, keepdims=True))
    return out


def _gradients(
    g: Any, query: Any, key: Any, value: Any, out: Any, logs: Any, causal: bool, scale: float
) -> tuple[Any, Any, Any]:
    """The formula of the gradients of queries, keys and values."""
    scaled = mul(query, scale)
    scores = matmul(scaled, mT(key))
    if causal:
        scores = where(causal_mask(query, *scores.shape[-2:]), scores, -inf)
    last = scores.ndim - 1
    weights = safe_softmax(scores)
    slopes = matmul(g, mT(value))
    slopes = mul(weights, sub(slopes, summed(mul(slopes, weights), (last,), True)))
    return mul(matmul(slopes, key), scale), matmul(mT(slopes), scaled), matmul(mT(weights), g)


@one_pass(_gradients, lambda query, key, value: (query, key, value))
def attention_gradients(
    xp: Any, g: Array, query: Array, key: Array, value: Array, out: Array, logs: Array,
    causal: bool, scale: float,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The same block by block."""
    return attending.attended_back(xp, g, query, key, value, out, logs, causal, scale)


def _spec(query: Spec, value: Spec) -> tuple[Spec, Spec]:
    wide = float32 if query.dtype.half else query.dtype
    lead = query.shape[:-1]
    return query.with_(shape=(*lead, value.shape[-1])), Spec((*lead, 1), wide, "")


@internal(
    vjp(
        joint=lambda g_out, query, key, value, out, logs, causal, scale: attention_gradients(
            g_out, query, key, value, out, logs, causal, scale
        )
    ),
    spec=_spec,
    outputs=("out", "logs"),
    batch=leading,
    grad_name="ScaledDotProductFlashAttentionForCpuBackward0",
    formula="softmax's and the products' gradients",
)
def attended(
    xp: Any, query: Array, key: Array, value: Array, causal: bool, scale: float
) -> tuple[Array, Array]:
    """Values averaged by softmax(query keyᵀ scale), of stacks alike; the rows' logarithms."""
    return attending.attended(xp, query, key, value, causal, scale)
