"""torch.testing.assert_close."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire.tensor import Tensor
from gradwire_engine.spec import DType

_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
"""Relative and absolute tolerance by dtype, torch's own; exact for the others."""


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: str | None = None,
) -> None:
    """Raise AssertionError unless the values agree: |actual - expected| <= atol + rtol |expected|.

    Sequences are compared item by item. rtol and atol: torch's defaults for the dtype.
    """
    if isinstance(actual, list | tuple) and isinstance(expected, list | tuple):
        if len(actual) != len(expected):
            raise AssertionError(
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            )
        for a, b in zip(actual, expected, strict=True):
            assert_close(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype)
        return
    a, b = _array(actual), _array(expected)
    _check(a, b, check_dtype)
    relative, absolute = _tolerance(actual, expected)
    wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
    near = np.isclose(
        a.astype(wide),
        b.astype(wide),
        rtol=relative if rtol is None else rtol,
        atol=absolute if atol is None else atol,
        equal_nan=equal_nan,
    )
    if not near.all():
        raise AssertionError(msg or _difference(a.astype(wide), b.astype(wide), near))


def _array(value: Any) -> np.ndarray:
    return value._read() if isinstance(value, Tensor) else np.asarray(value)


def _check(a: np.ndarray, b: np.ndarray, check_dtype: bool) -> None:
    if a.shape != b.shape:
        raise AssertionError(
            f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}."
        )
    if check_dtype and a.dtype != b.dtype:
        raise AssertionError(
            f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}."
        )


def _tolerance(actual: Any, expected: Any) -> tuple[float, float]:
    dtypes = [v.dtype for v in (actual, expected) if isinstance(getattr(v, "dtype", None), DType)]
    if not dtypes:
        return _TOLERANCES["float64"]
    found = [_TOLERANCES.get(d.name, (0.0, 0.0)) for d in dtypes]
    return max(found)


def _difference(a: np.ndarray, b: np.ndarray, near: np.ndarray) -> str:
    off = np.abs(a - b)
    worst = np.unravel_index(int(np.argmax(np.where(near, -1, off))), off.shape)
    return (
        f"Tensor-likes are not close!\n\nMismatched elements: {int((~near).sum())} / {near.size}\n"
        f"Greatest absolute difference: {off[worst]} at index {tuple(map(int, worst))}"
    )


__all__ = ["assert_close"]
