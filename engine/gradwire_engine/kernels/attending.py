"""Attention without a mask or with the causal one, in blocks of scores that stay in the cache.

Of the scores only the logarithm of each row's sum of exponentials is kept; the way back works
them out again, which costs less than memory to keep them in. Of a causal mask's scores, those
that no row of a block sees are never worked out.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.kernels.row_blocks import each_block
from gradwire_engine.kernels.shares import by_samples
from gradwire_engine.long_calls import look

SCORES = 1 << 19
"""Scores in a block."""
ROWS = 128
"""Rows in a causal block: fewer see less in vain, more are a better product."""

Part = tuple[slice, slice, slice]
"""Matrices of the stack, rows of queries, rows of keys that these see."""


def attended(
    xp: Any, query: Array, key: Array, value: Array, causal: bool, scale: float
) -> tuple[Array, Array]:
    """Values (..., L, Ev) averaged by softmax(query keyᵀ scale); the logarithms of rows."""
    q, k, v = _stack(query), _stack(key), _stack(value)
    out = xp.empty((*q.shape[:2], v.shape[2]), q.dtype)
    logs = xp.empty((*q.shape[:2], 1), q.dtype)

    def work(q: Array, k: Array, v: Array, out: Array, logs: Array) -> None:
        for heads, rows, keys in _parts(q.shape[0], q.shape[1], k.shape[1], causal):
            look()
            scores = _scores(xp, q[heads, rows] * scale, k[heads, keys], rows, causal)
            totals = xp.empty((*scores.shape[:2], 1), q.dtype)
            each_block(lambda s, t: _softmax(xp, s, t), _flat(scores), _flat(totals), passes=4)
            logs[heads, rows] = totals
            out[heads, rows] = xp.matmul(scores, v[heads, keys])

    by_samples(work, 2 * q.size * k.shape[1], q, k, v, out, logs)
    lead = query.shape[:-1]
    return out.reshape(*lead, v.shape[2]), logs.reshape(*lead, 1)


def attended_back(
    xp: Any, g: Array, query: Array, key: Array, value: Array, out: Array, logs: Array,
    causal: bool, scale: float,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """The gradients of queries, keys and values."""
    q, k, v = _stack(query), _stack(key), _stack(value)
    to_q, to_k, to_v = (xp.zeros(x.shape, x.dtype) for x in (q, k, v))

    def work(*some: Array) -> None:
        _back(xp, causal, scale, *some)

    operands = q, k, v, _stack(g), _stack(out), _stack(logs)
    by_samples(work, 5 * q.size * k.shape[1], *operands, to_q, to_k, to_v)
    return to_q.reshape(query.shape), to_k.reshape(key.shape), to_v.reshape(value.shape)


def _back(
    xp: Any, causal: bool, scale: float, q: Array, k: Array, v: Array, given: Array, out: Array,
    logs: Array, to_q: Array, to_k: Array, to_v: Array,
) -> None:  # fmt: skip
    """The same of some heads, into zeros."""
    along = xp.einsum("hrc,hrc->hr", given, out)[..., None]
    for heads, rows, keys in _parts(q.shape[0], q.shape[1], k.shape[1], causal):
        look()
        scaled, g_rows = q[heads, rows] * scale, given[heads, rows]
        weights = _scores(xp, scaled, k[heads, keys], rows, causal)
        slopes = xp.matmul(g_rows, v[heads, keys].swapaxes(1, 2))
        columns = (xp.ascontiguousarray(a[heads, rows]) for a in (logs, along))
        each_block(
            lambda s, d, at, mean: _softmax_back(xp, s, d, at, mean),
            *map(_flat, (weights, slopes, *columns)),
            passes=5,
        )
        to_v[heads, keys] += xp.matmul(weights.swapaxes(1, 2), g_rows)
        to_k[heads, keys] += xp.matmul(slopes.swapaxes(1, 2), scaled)
        to_q[heads, rows] = xp.matmul(slopes, k[heads, keys])
    to_q *= scale


def _stack(x: Array) -> Array:
    return x.reshape(prod(x.shape[:-2]), *x.shape[-2:])


def _flat(x: Array) -> Array:
    return x.reshape(x.shape[0] * x.shape[1], x.shape[2])


def _parts(heads: int, rows: int, keys: int, causal: bool) -> Iterator[Part]:
    """Blocks of scores; of the keys only those that the last row of a block sees."""
    if not keys:
        return
    most = max(1, SCORES // keys)
    height = max(1, min(rows, most, ROWS if causal and rows > ROWS else rows))
    for first in range(0, rows, height):
        last = min(first + height, rows)
        seen = min(last, keys) if causal else keys
        step = max(1, SCORES // (height * seen))
        for head in range(0, heads, step):
            yield slice(head, head + step), slice(first, last), slice(0, seen)


def _scores(xp: Any, q: Array, k: Array, rows: slice, causal: bool) -> Array:
    scores = xp.matmul(q, k.swapaxes(1, 2))
    if causal and rows.start < k.shape[1]:
        hidden = xp.arange(rows.start, k.shape[1]) > xp.arange(rows.start, rows.stop)[:, None]
        part = scores[:, :, rows.start :]
        part += xp.where(hidden, -xp.inf, 0).astype(scores.dtype)
    return scores


def _softmax(xp: Any, scores: Array, logs: Array) -> None:
    top = scores.max(axis=1, keepdims=True)
    top[top == -xp.inf] = 0  # of a row that sees nothing all weights are 0
    scores -= top
    xp.exp(scores, out=scores)
    total = xp.einsum("ij->i", scores)[:, None]
    total[total == 0] = 1
    scores /= total
    xp.log(total, out=logs)
    logs += top


def _softmax_back(xp: Any, scores: Array, slopes: Array, logs: Array, mean: Array) -> None:
    scores -= logs
    xp.exp(scores, out=scores)
    slopes -= mean
    slopes *= scores
