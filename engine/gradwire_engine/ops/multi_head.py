"""Attention with several heads: projections, masks, heads put side by side."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error
from gradwire_engine.families import composite
from gradwire_engine.ops.arithmetic import mul
from gradwire_engine.ops.axes import mT, transpose, unsqueeze
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.dropout import dropout
from gradwire_engine.ops.expand import expand, reshape
from gradwire_engine.ops.join import cat
from gradwire_engine.ops.linear import linear
from gradwire_engine.ops.loss import F
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.pad import pad
from gradwire_engine.ops.reduce import mean
from gradwire_engine.ops.softmax import softmax
from gradwire_engine.ops.views import narrow


def _third(x: Any, i: int, size: int) -> Any:
    return None if x is None else narrow(x, 0, i * size, size)


def _projected(operands: Any, weights: Any, biases: Any) -> list[Any]:
    return [linear(x, w, b) for x, w, b in zip(operands, weights, biases, strict=True)]


def _heads(x: Any, heads: int) -> Any:
    """(length, batch, width) as (batch, heads, length, width of a head)."""
    length, batch, width = x.shape
    return transpose(transpose(reshape(x, (length, batch, heads, width // heads)), 0, 1), 1, 2)


def _additive(mask: Any, like: Any) -> Any:
    """A mask as numbers to add to scores: True forbids."""
    return where(mask, -inf, 0 * narrow(reshape(like, (-1,)), 0, 0, 1)) if _is_bool(mask) else mask


def _is_bool(x: Any) -> bool:
    return bool(x.dtype.kind == "b")


def _joined_masks(attn_mask: Any, padding: Any, heads: int, batch: int, like: Any) -> Any:
    """Both masks as one of shape (batch or 1, heads or 1, target, source); None without any."""
    found = None
    if attn_mask is not None:
        found = _additive(attn_mask, like)
        found = reshape(found, (batch, heads, *found.shape[1:])) if found.ndim == 3 else found
    if padding is not None:
        columns = reshape(_additive(padding, like), (batch, 1, 1, padding.shape[-1]))
        found = columns if found is None else found + columns
    return found


def _extended(x: Any, extra: Any) -> Any:
    """A sequence with one more place at its end, the same for each batch entry."""
    return cat([x, expand(extra, (1, *x.shape[1:]))], 0)


def _wider(mask: Any, more: int) -> Any:
    """A mask with places more at its end, which may be looked at."""
    return mask if mask is None or not more else pad(mask, (0, more))


def _given(fixed: Any, heads: Any) -> Any:
    """Keys or values handed in as (batch * heads, length, width), else those worked out."""
    return heads if fixed is None else reshape(fixed, (*heads.shape[:2], *fixed.shape[1:]))


@composite(space=F, random=True)
def multi_head_attention_forward(
    query: Array,
    key: Array,
    value: Array,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Array | None,
    in_proj_bias: Array | None,
    bias_k: Array | None,
    bias_v: Array | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Array,
    out_proj_bias: Array | None,
    training: bool = True,
    key_padding_mask: Array | None = None,
    need_weights: bool = True,
    attn_mask: Array | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Array | None = None,
    k_proj_weight: Array | None = None,
    v_proj_weight: Array | None = None,
    static_k: Array | None = None,
    static_v: Array | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Array, Array | None]:
    """Multi-head attention of (length, batch, width) sequences; the output and its weights."""
    batched = query.ndim == 3
    if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
        shown = ", ".join(str(list(x.shape)) for x in (query, key, value))
        raise error(
            "shape_mismatch",
            f"multi_head_attention_forward: query, key and value are {shown}",
            "give [length, batch, width] for each of them, or [length, width]",
        )
    if not batched:
        query, key, value = (unsqueeze(x, 1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else unsqueeze(key_padding_mask, 0)
    length, batch, width = query.shape
    if width != embed_dim_to_check or width % num_heads:
        raise error(
            "shape_mismatch",
            f"multi_head_attention_forward: the width is {width}, embed_dim is "
            f"{embed_dim_to_check}, with {num_heads} heads",
            "the width must be embed_dim and a multiple of the number of heads",
        )
    separate = [q_proj_weight, k_proj_weight, v_proj_weight] if use_separate_proj_weight else None
    weights = separate or [_third(in_proj_weight, i, width) for i in range(3)]
    biases = [_third(in_proj_bias, i, width) for i in range(3)]
    q, k, v = _projected((query, key, value), weights, biases)
    if bias_k is not None:
        k, v = _extended(k, bias_k), _extended(v, bias_v)
    q, k, v = (_heads(x, num_heads) for x in (q, k, v))
    k, v = _given(static_k, k), _given(static_v, v)
    if add_zero_attn:
        k, v = pad(k, (0, 0, 0, 1)), pad(v, (0, 0, 0, 1))
    more = (bias_k is not None) + add_zero_attn
    attn_mask, key_padding_mask = _wider(attn_mask, more), _wider(key_padding_mask, more)
    scores = matmul(mul(q, 1 / sqrt(width // num_heads)), mT(k))
    mask = _joined_masks(attn_mask, key_padding_mask, num_heads, batch, scores)
    shares = softmax(scores if mask is None else scores + mask, 3)
    if training and dropout_p:
        shares = dropout(shares, dropout_p, True)
    rows = transpose(transpose(matmul(shares, v), 1, 2), 0, 1)
    out = linear(reshape(rows, (length, batch, width)), out_proj_weight, out_proj_bias)
    if average_attn_weights:
        shares = mean(shares, (1,))
    if not batched:
        out, shares = reshape(out, (length, width)), reshape(shares, shares.shape[1:])
    return out, shares if need_weights else None
