"""Samples of bags of a table's rows, and of sequences aligned with their targets."""

from __future__ import annotations

import numpy as np
from tests.engine.samples import Call, Draw

Rng = np.random.Generator
F = "nn.functional."


def _embedding_bag(rng: Rng) -> list[Call]:
    table, shares = rng.standard_normal((5, 3)), rng.standard_normal(6)
    index, offsets = np.array([0, 1, 4, 1, 3, 0]), np.array([0, 2, 2, 5])
    calls: list[Call] = [((index, table, offsets), {"mode": m}) for m in ("sum", "mean", "max")]
    calls += [((index.reshape(2, 3), table), {"mode": m}) for m in ("sum", "mean", "max")]
    return [
        *calls,
        ((index, table, offsets), {"mode": "sum", "per_sample_weights": shares}),
        ((index, table, offsets), {"mode": "mean", "padding_idx": 1}),
        ((index, table, np.array([0, 4, 6])), {"mode": "max", "include_last_offset": True}),
    ]


def _ctc_loss(rng: Rng) -> list[Call]:
    x = rng.standard_normal((5, 2, 4))
    logs = x - np.log(np.exp(x).sum(-1, keepdims=True))
    targets, inputs, lengths = np.array([[1, 2, 2], [3, 1, 0]]), np.array([5, 4]), np.array([3, 2])
    calls: list[Call] = [
        ((logs, targets, inputs, lengths), {"reduction": r}) for r in ("none", "mean", "sum")
    ]
    return [
        *calls,
        ((logs, np.array([1, 2, 3]), (5, 3), (1, 2)), {"reduction": "sum"}),
        ((logs, targets, np.array([5, 1]), lengths, 0, "none", True), {}),
        ((logs[:, 0], targets[0, :2], np.array(5), np.array(2)), {"blank": 3}),
    ]


SAMPLES: dict[str, Draw] = {F + "embedding_bag": _embedding_bag, F + "ctc_loss": _ctc_loss}

NORMALIZED = (F + "ctc_loss",)
"""Ops with torch's gradient of log probabilities: right where a change leaves them normalised."""
