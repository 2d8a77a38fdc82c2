"""Attention: softmax of products of queries and keys, as weights of values."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import F, composite
from gradwire_engine.ops.arithmetic import mul
from gradwire_engine.ops.attended import attended, causal_mask, safe_softmax
from gradwire_engine.ops.axes import mT, unsqueeze
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.dropout import dropout
from gradwire_engine.ops.expand import expand, reshape
from gradwire_engine.ops.matmul import matmul


def _check_shapes(query: Any, key: Any, value: Any) -> None:
    shapes = [list(x.shape) for x in (query, key, value)]
    fits = min(query.ndim, key.ndim, value.ndim) >= 2
    if not fits or query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise shape_mismatch(
            f"scaled_dot_product_attention: query, key, value are {shapes}",
            "they are (..., L, E), (..., S, E) and (..., S, Ev)",
        )
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise dtype_mismatch(
            f"scaled_dot_product_attention: query, key, value are {query.dtype.name}, "
            f"{key.dtype.name}, {value.dtype.name}",
            "convert them to one dtype",
        )


def _repeated(x: Any, heads: int) -> Any:
    """Heads of keys or values, each as often as queries share it."""
    have = x.shape[-3]
    if have == heads:
        return x
    if not have or heads % have:
        raise shape_mismatch(
            f"scaled_dot_product_attention: {heads} heads of queries share {have} of keys",
            "with enable_gqa the first must be a multiple of the second",
        )
    *batch, _, rows, width = x.shape
    spread = expand(unsqueeze(x, -3), (*batch, have, heads // have, rows, width))
    return reshape(spread, (*batch, heads, rows, width))


def masked(scores: Any, mask: Any) -> Any:
    """Scores with a mask applied: bools choose, numbers are added."""
    return where(mask, scores, -inf) if mask.dtype.kind == "b" else scores + mask


@composite(space=F, random=True)
def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Array:
    """Values averaged by softmax(query keyᵀ / sqrt(E)), with a mask, dropout, shared heads."""
    _check_shapes(query, key, value)
    if is_causal and attn_mask is not None:
        raise invalid_argument(
            "scaled_dot_product_attention: is_causal and attn_mask were both given",
            "put the causal mask into attn_mask, or leave that out",
        )
    if enable_gqa:
        key, value = (_repeated(x, query.shape[-3]) for x in (key, value))
    factor = 1 / sqrt(query.shape[-1] or 1) if scale is None else scale
    plain = attn_mask is None and not dropout_p and query.dtype.kind in "fV"
    if plain and query.shape[:-2] == key.shape[:-2] == value.shape[:-2] and 0 not in key.shape:
        return attended(query, key, value, is_causal, float(factor))[0]
    scores = matmul(mul(query, factor), mT(key))
    if is_causal:
        attn_mask = causal_mask(query, *scores.shape[-2:])
    weights = safe_softmax(scores if attn_mask is None else masked(scores, attn_mask))
    if dropout_p:
        weights = dropout(weights, dropout_p, True)
    return matmul(weights, value)
