"""Tensors as rows of real numbers, which updates work on, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwire_engine.inplace import check_writable, write
from gradwire_engine.mode import charge, no_grad
from gradwire_engine.spec import float32
from gradwire_engine.tensor import Tensor


def flat(xp: Any, x: Tensor) -> Any:
    """The elements as one row of real numbers: complex ones as pairs, halves widened."""
    array = x.array
    row = (array if array.flags.c_contiguous else xp.ascontiguousarray(array)).reshape(-1)
    dtype = x.spec.dtype
    if dtype.is_complex:
        return row.view(row.real.dtype)
    return row.astype(float32.numpy) if dtype.half else row


def shaped(xp: Any, row: Any, like: Tensor) -> Any:
    """The opposite of `flat`, for a tensor like this one."""
    wanted = like.spec.dtype.numpy
    if like.spec.dtype.is_complex:
        row = xp.ascontiguousarray(row).view(wanted)
    return row.reshape(like.spec.shape).astype(wanted, copy=False)


def put_back(xp: Any, params: Sequence[Tensor], row: Any) -> None:
    """Write one row of all elements into the parameters."""
    at = 0
    with no_grad():
        for x in params:
            size = elements(x)
            check_writable("lbfgs: step", x)
            charge(x.spec.nbytes)
            part = shaped(xp, xp.array(row[at : at + size]), x)
            write("step", x, Tensor(part, x.spec, None))
            at += size


def elements(x: Tensor) -> int:
    """How long the row of a tensor is."""
    return x.spec.size * (2 if x.dtype.is_complex else 1)


def is_like(value: Any, x: Tensor) -> bool:
    """Whether a piece of state has an element for each of the parameter's."""
    return getattr(value, "shape", None) == (elements(x),)


def nbytes(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(nbytes, value))
    return int(getattr(value, "nbytes", 0))
