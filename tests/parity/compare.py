"""Whether two runs showed the same: flags, shapes and errors exactly, numbers to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.parity.observe import Raised, Tensor

RELATIVE = {
    "float64": 1e-10,
    "complex128": 1e-10,
    "float32": 8 * 2.0**-23,
    "complex64": 8 * 2.0**-23,
    "float16": 2 * 2.0**-10,
    "bfloat16": 2 * 2.0**-7,
}
"""How far numbers may be apart, relative to themselves and to the largest of their tensor."""


def differences(expected: Any, actual: Any, where: str = "") -> list[str]:
    """What differs between two notes, each with its place; empty if they are the same."""
    if type(expected) is not type(actual):
        return [f"{where}: {_short(expected)} became {_short(actual)}"]
    if isinstance(expected, Tensor):
        return _tensors(expected, actual, where)
    if isinstance(expected, list | tuple):
        if len(expected) != len(actual):
            return [f"{where}: {len(expected)} items became {len(actual)}"]
        pairs = enumerate(zip(expected, actual, strict=True))
        return [d for i, (e, a) in pairs for d in differences(e, a, f"{where}[{i}]")]
    if isinstance(expected, dict):
        if expected.keys() != actual.keys():
            return [f"{where}: keys {list(expected)} became {list(actual)}"]
        return [d for k in expected for d in differences(expected[k], actual[k], f"{where}.{k}")]
    if isinstance(expected, np.ndarray):
        return _arrays(expected, actual, where)
    if isinstance(expected, float | complex):
        return _arrays(np.asarray(expected), np.asarray(actual), where)
    return [] if expected == actual else [f"{where}: {_short(expected)} became {_short(actual)}"]


def _tensors(expected: Tensor, actual: Tensor, where: str) -> list[str]:
    found = []
    for name in ("dtype", "shape", "requires_grad", "is_leaf", "grad_fn"):
        was, became = getattr(expected, name), getattr(actual, name)
        if was != became:
            found.append(f"{where}.{name}: {was} became {became}")
    if expected.shape == actual.shape:
        found += _numbers(expected.values, actual.values, expected.dtype, where)
    if expected.grad is not None and actual.grad is not None:
        return found + _tensors(expected.grad, actual.grad, f"{where}.grad")
    if (expected.grad is None) != (actual.grad is None):
        found.append(f"{where}.grad: {_short(expected.grad)} became {_short(actual.grad)}")
    return found


def _arrays(expected: np.ndarray, actual: np.ndarray, where: str) -> list[str]:
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        return [f"{where}: {expected.dtype}{expected.shape} became {actual.dtype}{actual.shape}"]
    return _numbers(expected, actual, expected.dtype.name, where)


def _numbers(expected: np.ndarray, actual: np.ndarray, dtype: str, where: str) -> list[str]:
    if dtype not in RELATIVE:
        return [] if np.array_equal(expected, actual) else [f"{where}: {expected} became {actual}"]
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    e, a = expected.astype(wide), actual.astype(wide)
    finite = np.isfinite(e)
    if not np.array_equal(np.where(finite, 0, e), np.where(np.isfinite(a), 0, a), equal_nan=True):
        return [f"{where}: {expected} became {actual}"]
    scale = np.abs(np.where(finite, e, 0))
    bound = RELATIVE[dtype] * (scale + scale.max(initial=0.0)) + np.finfo(np.float64).eps
    if np.all(np.abs(np.where(finite, e, 0) - np.where(finite, a, 0)) <= bound):
        return []
    return [f"{where}: {expected} became {actual}, more apart than rounding explains"]


def _short(value: Any) -> str:
    if isinstance(value, Raised):
        return f"{value.kind} ({value.text.splitlines()[0] if value.text else ''})"
    return f"{value!r:.200}"
