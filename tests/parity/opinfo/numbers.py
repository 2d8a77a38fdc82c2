"""Tensors of both sides as NumPy arrays, and when two of them are the same."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch
from tests.parity.opinfo.stand import Stand, Unlike

import gradwire

RELATIVE = {
    "float16": 2 * 2.0**-10,
    "bfloat16": 2 * 2.0**-7,
    "float32": 1e-5,
    "complex64": 1e-5,
}
"""How far results may be apart, relative to the number and to the largest of its tensor."""
EXACT = 1e-6
"""The same for float64 and complex128."""
ROUNDING = 1e-12
"""How far what cancels may be apart, relative to the largest number of all that was worked out."""


def to_numpy(tensor: Any) -> np.ndarray:
    """Elements of a tensor of either side; bfloat16 as NumPy knows it."""
    if isinstance(tensor, Stand):
        tensor = tensor.tensor
    if isinstance(tensor, torch.Tensor):
        tensor = tensor.detach().resolve_conj().resolve_neg()
        if tensor.dtype is torch.bfloat16:
            bits = (tensor + 0).contiguous().view(torch.int16).numpy()
            return np.asarray(bits.view(ml_dtypes.bfloat16))
        return np.asarray(tensor.numpy(force=True))  # also what torch keeps as a mere zero
    if tensor.dtype is gradwire.bfloat16:
        return np.asarray(tensor.detach().float().numpy()).astype(ml_dtypes.bfloat16)
    return np.asarray(tensor.detach().numpy())


def dtype_name(tensor: Any) -> str:
    """float64, bool, …, of a tensor of either side."""
    return str(tensor.dtype).removeprefix("torch.")


MOST = 64
"""Axes that an array can have."""


def distinct(value: Any) -> Any:
    """A tensor of numbers in whose order no two are equal; other values as they are."""
    if not isinstance(value, torch.Tensor) or value.dtype.is_complex:
        return value
    ranks = value.detach().flatten().argsort(stable=True).argsort()
    if value.dtype.itemsize > 2:
        found = ranks.to(value.dtype)
    else:  # each 16 bit pattern from that of 1 on is the next larger number
        one = torch.ones((), dtype=value.dtype).view(torch.int16)
        found = (ranks + one).to(torch.int16).view(value.dtype)
    return found.reshape(value.shape).requires_grad_(value.requires_grad)


def to_ours(tensor: torch.Tensor) -> gradwire.Tensor:
    """A leaf of the SDK with the same elements, in a memory of the same kind."""
    plain = tensor.layout is torch.strided and tensor.device.type == "cpu" and tensor.ndim <= MOST
    if not hasattr(gradwire, dtype_name(tensor)) or not plain:
        raise Unlike(f"{dtype_name(tensor)}, {tensor.layout}, {tensor.device}, {tensor.ndim} axes")
    dtype, whole = getattr(gradwire, dtype_name(tensor)), tensor._base
    if whole is None or not _shows_part(tensor, whole):
        made = gradwire.tensor(to_numpy(tensor).copy(), dtype=dtype)
        return made.requires_grad_(tensor.requires_grad)
    made = gradwire.tensor(to_numpy(whole).copy(), dtype=dtype)
    made.requires_grad_(tensor.requires_grad)
    seen = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    return made.as_strided(*seen)


def _shows_part(tensor: torch.Tensor, whole: torch.Tensor) -> bool:
    """Whether it is a view of a tensor in rows by size and stride, and by nothing else."""
    plain = not (tensor.is_conj() or tensor.is_neg()) and tensor.dtype is whole.dtype
    return plain and whole.is_contiguous() and whole.storage_offset() == 0


def largest(arrays: list[np.ndarray]) -> float:
    """The largest finite number of all."""
    sizes = [np.abs(a.astype(np.complex128)) for a in arrays if a.dtype.kind not in "biu"]
    return max((float(s[np.isfinite(s)].max(initial=0)) for s in sizes), default=0.0)


def apart(found: np.ndarray, wanted: np.ndarray, scale: float) -> str | None:
    """How two arrays of one shape differ; None if they don't. scale: of all that was worked out."""
    if wanted.dtype.kind in "biu":
        same = np.array_equal(found, wanted)
        return None if same else f"{_short(found)} for {_short(wanted)}"
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    a, b = found.astype(wide), wanted.astype(wide)
    finite = np.isfinite(b)
    odd_a, odd_b = np.where(finite, 0, a), np.where(finite, 0, b)
    if not _alike(odd_a, odd_b) or not np.isfinite(a[finite]).all():
        return f"{_short(found)} for {_short(wanted)}"
    size = np.abs(np.where(finite, b, 0))
    relative = RELATIVE.get(wanted.dtype.name, EXACT)
    bound = (
        relative * (size + size.max(initial=0))
        + RELATIVE.get(wanted.dtype.name, ROUNDING) * scale
        + ROUNDING
    )
    error = np.abs(np.where(finite, a, 0) - np.where(finite, b, 0))
    if (error <= bound).all():
        return None
    return f"{_short(found)} for {_short(wanted)}, {error.max():.1e} apart"


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    """The same infinities and NaNs; of complex numbers, NaN where any part is."""
    if a.dtype.kind == "c":
        nan_a, nan_b = np.isnan(a), np.isnan(b)
        return bool((nan_a == nan_b).all() and (nan_a | (a == b) | np.isinf(a) & np.isinf(b)).all())
    return bool(np.array_equal(a, b, equal_nan=True))


def _short(array: np.ndarray) -> str:
    text = np.array2string(array, precision=6, threshold=6, separator=",").replace("\n", "")
    return text if len(text) < 120 else text[:117] + "..."
