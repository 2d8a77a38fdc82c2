"""Attention with several heads: projections, masks, heads put side by side."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error
from gradwire_engine.families import F, composite
from gradwire_engine.ops.arithmetic import mul
from gradwire_engine.ops.axes import mT, permute, unsqueeze
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.dropout import dropout
from gradwire_engine.ops.expand import expand, reshape
from gradwire_engine.ops.join import cat
from gradwire_engine.ops.linear import linear
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.pad import pad
from gradwire_engine.ops.reduce import mean
from gradwire_engine.ops.softmax import softmax
from gradwire_engine.ops.split import unbind
from gradwire_engine.ops.views import narrow


def _third(x: Any, i: int, size: int) -> Any:
    return None if x is None else narrow(x, 0, i * size, size)


def _projected_together(x: Any, weight: Any, bias: Any) -> Any:
    """The three projections of one sequence, by one product."""
    found = linear(x, weight, bias)
    return unbind(reshape(found, (*x.shape[:-1], 3, x.shape[-1])), x.ndim - 1)


def _is_whole(weight: Any, bias: Any, width: int) -> bool:
    """Whether these are the weight and bias of all three projections, in shapes that fit."""
    fits = weight is not None and tuple(weight.shape) == (3 * width, width)
    return fits and (bias is None or tuple(bias.shape) == (3 * width,))


def _heads(x: Any, heads: int) -> Any:
    """(length, batch, width) as (batch, heads, length, width of a head)."""
    length, batch, width = x.shape
    return permute(reshape(x, (length, batch, heads, width // heads)), (1, 2, 0, 3))


def _additive(mask: Any, like: Any) -> Any:
    """A mask as numbers to add to scores: True forbids."""
    if mask.dtype.kind != "b":
        return mask
    return where(mask, -inf, 0 * narrow(reshape(like, (-1,)), 0, 0, 1))


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


def _refused(what: str, hint: str, raised: type[Exception] = AssertionError) -> Exception:
    code = "shape_mismatch" if raised is AssertionError else "invalid_argument"
    return error(code, f"multi_head_attention_forward: {what}", hint, raised=raised)


def _given(fixed: Any, heads: Any) -> Any:
    """Keys or values handed in as (batch * heads, length, width), else those worked out."""
    if fixed is None:
        return heads
    rows, width = heads.shape[0] * heads.shape[1], heads.shape[-1]
    if (fixed.shape[0], fixed.shape[-1]) != (rows, width):
        raise _refused(
            f"static_k or static_v is {list(fixed.shape)}",
            f"it must be [{rows}, length, {width}], batch times heads first",
        )
    return reshape(fixed, (*heads.shape[:2], *fixed.shape[1:]))


def _check_sizes(query: Any, key: Any, value: Any, embed_dim: int, heads: int) -> None:
    """Sequences have to be alike, and their width to be cut into heads; as in torch, asserted."""
    if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
        shown = ", ".join(str(list(x.shape)) for x in (query, key, value))
        raise _refused(
            f"query, key and value are {shown}",
            "give [length, batch, width] for each of them, or [length, width]",
        )
    width = query.shape[-1]
    if width != embed_dim or heads < 1 or width % heads:
        raise _refused(
            f"the width is {width}, embed_dim is {embed_dim}, with {heads} heads",
            "the width must be embed_dim and a multiple of the number of heads",
        )
    if key.shape[:-1] != value.shape[:-1]:
        raise _refused(
            f"the key is {list(key.shape)}, the value {list(value.shape)}",
            "they need the same length and batch",
        )


def _check_given(weights: Any, bias_k: Any, bias_v: Any, causal: bool, mask: Any) -> None:
    """What is given has to be whole: all weights, both biases, a mask that is said to be causal."""
    if any(w is None for w in weights):
        raise _refused(
            "a weight of the projections is None",
            "give in_proj_weight, or with use_separate_proj_weight all three of the others",
        )
    if (bias_k is None) != (bias_v is None):
        raise _refused("only one of bias_k and bias_v is set", "give both, or none")
    if causal and mask is None:
        raise _refused(
            "need attn_mask if specifying the is_causal hint",
            "is_causal says of attn_mask that it is causal, and makes none",
            RuntimeError,
        )


def _check_padding(padding: Any, batch: int, length: int) -> None:
    """The mask of places that are none has to fit the keys."""
    if padding is not None and padding.shape != (batch, length):
        raise _refused(
            f"key_padding_mask is {list(padding.shape)}",
            f"it must be {[batch, length]}: the batch and the length of the key",
        )


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
    _check_sizes(query, key, value, embed_dim_to_check, num_heads)
    batched = query.ndim == 3
    if not batched:
        alike = query is key is value
        query = unsqueeze(query, 1)
        key, value = (query, query) if alike else (unsqueeze(key, 1), unsqueeze(value, 1))
        key_padding_mask = None if key_padding_mask is None else unsqueeze(key_padding_mask, 0)
    length, batch, width = query.shape
    separate = [q_proj_weight, k_proj_weight, v_proj_weight] if use_separate_proj_weight else None
    _check_given(separate or [in_proj_weight], bias_k, bias_v, is_causal, attn_mask)
    alone = query is key is value and separate is None
    if alone and _is_whole(in_proj_weight, in_proj_bias, width):
        q, k, v = _projected_together(query, in_proj_weight, in_proj_bias)
    else:
        weights = separate or [_third(in_proj_weight, i, width) for i in range(3)]
        biases = [_third(in_proj_bias, i, width) for i in range(3)]
        q, k, v = map(linear, (query, key, value), weights, biases)
    if bias_k is not None:
        k, v = _extended(k, bias_k), _extended(v, bias_v)
    q, k, v = (_heads(x, num_heads) for x in (q, k, v))
    k, v = _given(static_k, k), _given(static_v, v)
    _check_padding(key_padding_mask, batch, k.shape[2] - (bias_k is not None))
    if add_zero_attn:
        k, v = pad(k, (0, 0, 0, 1)), pad(v, (0, 0, 0, 1))
    more = (bias_k is not None) + add_zero_attn
    attn_mask, key_padding_mask = _wider(attn_mask, more), _wider(key_padding_mask, more)
    scores = matmul(mul(q, 1 / sqrt(width // num_heads)), mT(k))
    mask = _joined_masks(attn_mask, key_padding_mask, num_heads, batch, scores)
    shares = softmax(scores if mask is None else scores + mask, 3)
    if training and dropout_p:
        shares = dropout(shares, dropout_p, True)
    rows = permute(matmul(shares, v), (2, 0, 1, 3))
    out = linear(reshape(rows, (length, batch, width)), out_proj_weight, out_proj_bias)
    out = out if batched else reshape(out, (length, width))
    if not need_weights:
        return out, None
    if average_attn_weights:
        shares = mean(shares, (1,))
    return out, shares if batched else reshape(shares, shares.shape[1:])
