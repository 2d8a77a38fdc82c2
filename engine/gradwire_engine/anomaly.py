"""Anomaly mode: a walk stops at the first node whose rules make a NaN, and names it."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import backend
from gradwire_engine.errors import error
from gradwire_engine.mode import local, no_grad, using
from gradwire_engine.ops.compare import isnan
from gradwire_engine.ops.reduce import any as any_
from gradwire_engine.tape import Node


def detect_anomaly(mode: bool = True, check_nan: bool = True) -> using:
    """Walks in this block look for NaN, not for infinities, in what each node's rules give."""
    return using(anomaly=bool(mode), check_nan=bool(check_nan))


def check_nan(node: Node, index: int, part: Any, device: str) -> None:
    """Refuse a NaN in the gradient of an operand: nan_gradient."""
    if device == "meta":
        return
    while hasattr(part, "value"):  # what a transform wraps
        part = part.value
    with no_grad():
        found = any_(isnan(part))
    if not backend(device).to_numpy(getattr(found, "array", found)):
        return
    origin = local.state.origin
    where = origin(node.seq) if origin is not None else ""
    made = f"; it was made at {where}" if where else ""
    raise error(
        "nan_gradient",
        f"Function '{node.name()}' returned nan values in its {index}th output{made}",
        "look at what went into it: 0/0, inf - inf, or the root or logarithm of a negative number",
    )
