"""torch.nn.functional, from the catalogue, and what takes a function of the user's."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from gradwire.functions import catalogued, serving

_function, __dir__ = serving(__name__, "nn.functional.", "")


def __getattr__(name: str) -> Any:
    if name == "gumbel_softmax":
        return import_module("gradwire.composed").gumbel_softmax
    return _with_distance if name == "triplet_margin_with_distance_loss" else _function(name)


def _with_distance(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """max(d(anchor, positive) - d(anchor, negative) + margin, 0), by a distance of one's own."""
    if distance_function is None:
        plain = catalogued("nn.functional.triplet_margin_with_distance_loss")
        return plain(anchor, positive, negative, margin=margin, swap=swap, reduction=reduction)
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction; it is none, mean or sum")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    near, far = distance_function(anchor, positive), distance_function(anchor, negative)
    if swap:
        far = catalogued("minimum")(far, distance_function(positive, negative))
    found = catalogued("clamp_min")(margin + near - far, 0)
    reduced = _REDUCTIONS[reduction]
    return found if reduced is None else catalogued(reduced)(found)


_REDUCTIONS = {"none": None, "mean": "mean", "sum": "sum"}
