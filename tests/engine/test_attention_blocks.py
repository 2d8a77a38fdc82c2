"""Attention in blocks, whatever their size, is what its formula says."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.kernels import attending
from gradwire_engine.tensor import Tensor

SHAPES = [(5, 5), (7, 3), (3, 8), (1, 1), (9, 9)]
"""Rows of queries, and of keys."""


def attention_and_gradients(rows: int, keys: int, causal: bool) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = ((2, 3, rows, 4), (2, 3, keys, 4), (2, 3, keys, 5))
    operands = [Tensor.of(rng.standard_normal(shape), True) for shape in shapes]
    attend = resolve("nn.functional.scaled_dot_product_attention")
    out = attend(*operands, is_causal=causal)
    gradients = grad([out], operands, [Tensor.of(rng.standard_normal(out.shape))])
    return [t.numpy() for t in (out, *gradients) if t is not None]


def by_hand(rows: int, keys: int, causal: bool) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    q, k = rng.standard_normal((2, 3, rows, 4)), rng.standard_normal((2, 3, keys, 4))
    v = rng.standard_normal((2, 3, keys, 5))
    scores = q @ k.swapaxes(-1, -2) / 2
    if causal:
        scores = np.where(np.tri(rows, keys, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    g = rng.standard_normal((2, 3, rows, 5))
    slopes = g @ v.swapaxes(-1, -2)
    slopes = weights * (slopes - (slopes * weights).sum(-1, keepdims=True)) / 2
    return [weights @ v, slopes @ k, slopes.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ g]


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
@pytest.mark.parametrize("block", [1, 6, 30, 1 << 20])
def test_blocks_of_any_size_give_the_same(
    sizes: tuple[int, int], causal: bool, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attending, "SCORES", block)
    monkeypatch.setattr(attending, "ROWS", 2)
    found = attention_and_gradients(*sizes, causal)
    for ours, theirs in zip(found, by_hand(*sizes, causal), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
