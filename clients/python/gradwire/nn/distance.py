"""How far or how alike two tensors are."""

from __future__ import annotations

from gradwire.nn.applied import Applied


class CosineSimilarity(Applied, op="nn.functional.cosine_similarity"):
    operands = 2
    shown = ()


class PairwiseDistance(Applied, op="nn.functional.pairwise_distance"):
    operands = 2
    shown = ()


__all__ = ["CosineSimilarity", "PairwiseDistance"]
