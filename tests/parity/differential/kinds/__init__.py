"""Kinds of steps: how each is proposed, given what a program has made so far, and how often."""

from __future__ import annotations

from tests.parity.differential.kinds import (
    graph,
    hooks,
    layers,
    math,
    places,
    products,
    reductions,
    values,
    views,
    walks,
    writes,
)
from tests.parity.differential.kinds.registry import KINDS

__all__ = [
    "KINDS", "graph", "hooks", "layers", "math", "places", "products", "reductions", "values",
    "views", "walks", "writes",
]  # fmt: skip
