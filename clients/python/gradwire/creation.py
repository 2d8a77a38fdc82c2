"""Tensors from Python's numbers, lists and NumPy arrays."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from gradwire import current, defaults
from gradwire.leaf import leaf
from gradwire.options import Options
from gradwire.tensor import Tensor
from gradwire.wire import plain
from gradwire_engine import promote
from gradwire_engine.arrays import halfway
from gradwire_engine.errors import error
from gradwire_engine.spec import DType, complex_of, dtype_of


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A leaf with a copy of the data: a number, nested lists of numbers, or an array.

    dtype: inferred where left out: bool, int64, the default float or the default complex.
    """
    session = current.session()
    Options(device=device).check(session.device)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use source.detach().clone() "
            "or source.detach().clone().requires_grad_(True), rather than torch.tensor(source).",
            UserWarning,
            stacklevel=2,
        )
        copied: Tensor = data.detach().clone()
        copied = copied if dtype is None else copied.to(dtype)
        return copied.requires_grad_() if requires_grad else copied
    return leaf(session, array_of(data, plain(dtype)), requires_grad=requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The tensor itself, converted if need be; a leaf of anything else."""
    if not isinstance(data, Tensor):
        return tensor(data, dtype=dtype, device=device)
    Options(device=device).check(data.session.device)
    same = dtype is None or plain(dtype) is data.dtype
    return data if same else data.to(dtype)


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A leaf of an array. Its elements are copied: a later write to the array is not seen."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return tensor(ndarray)


def array_of(data: Any, dtype: DType | None) -> np.ndarray:
    """A fresh array of what torch.tensor takes."""
    if isinstance(data, np.ndarray | np.generic):
        found = np.array(data)
        if found.dtype == object or found.dtype.kind in "SUMm":
            raise TypeError(
                f"can't convert np.ndarray of type {found.dtype}; the supported types are "
                "float64, float32, float16, complex64, complex128, ints, uint8 and bool"
            )
        found = found.astype(found.dtype.newbyteorder("="), copy=False)
        return found if dtype is None else _converted(found, dtype)
    shape = _shape(data)
    leaves = list(_leaves(data, shape))
    wanted = dtype or _inferred(leaves)
    flat = list(map(_number, leaves))
    _check(flat, wanted)
    return _filled(flat, wanted).reshape(shape)


def _shape(data: Any) -> tuple[int, ...]:
    """The shape of nested sequences, judged by their first elements."""
    shape: list[int] = []
    while isinstance(data, Sequence | np.ndarray) and not isinstance(data, str | bytes):
        shape.append(len(data))
        if not shape[-1]:
            break
        data = data[0]
    return tuple(shape)


def _leaves(data: Any, shape: tuple[int, ...], axis: int = 0) -> Any:
    """What nested sequences hold, in order; they must have the shape everywhere."""
    if axis == len(shape):
        yield data
        return
    if not isinstance(data, Sequence | np.ndarray) or isinstance(data, str):
        raise TypeError(f"not a sequence: a {type(data).__name__} at dim {axis}")
    if len(data) != shape[axis]:
        raise ValueError(
            f"expected sequence of length {shape[axis]} at dim {axis} (got {len(data)})"
        )
    for item in data:
        yield from _leaves(item, shape, axis + 1)


def _number(value: Any) -> bool | int | float | complex:
    if isinstance(value, bool | int | float | complex):
        return plain(value)  # type: ignore[no-any-return]
    if isinstance(value, Tensor):
        return value._number()  # type: ignore[no-any-return]
    if isinstance(value, np.generic | np.ndarray) and value.size == 1:
        found: complex = value.item()
        return found
    if isinstance(value, Sequence) and not isinstance(value, str):
        raise ValueError("expected a number, got a sequence: the nesting is not even")
    if isinstance(value, str | bytes):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    raise RuntimeError(f"could not infer a dtype of {type(value).__name__}")


def _inferred(leaves: list[Any]) -> DType:
    """The smallest dtype for Python's numbers; scalars of NumPy's and tensors have their own."""
    kinds = {type(v) for v in leaves}
    if not kinds <= _PLAIN:
        return reduce(promote.promote_types, {_dtype(v) for v in leaves})
    return _smallest(kinds)


_PLAIN = {bool, int, float, complex}


def _dtype(value: Any) -> DType:
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, np.generic | np.ndarray):
        return dtype_of(value.dtype)
    return _smallest({type(_number(value))})


def _smallest(kinds: set[type]) -> DType:
    if complex in kinds:
        return complex_of(defaults.dtype())
    if float in kinds or not kinds:
        return defaults.dtype()
    return dtype_of(np.dtype(np.int64 if int in kinds else np.bool_))


def _check(flat: list[Any], dtype: DType) -> None:
    """Refuse numbers that the dtype can't take, as torch does."""
    if not dtype.is_complex and any(type(v) is complex for v in flat):
        raise TypeError("must be real number, not complex")
    if dtype.numpy.kind in "iu":
        low, high = np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max
        for value in flat:
            if value != value or not low <= int(value) <= high:
                raise error(
                    "invalid_argument",
                    f"value {value!r} cannot be converted to type {dtype.name} without overflow",
                    f"{dtype.name} goes from {low} to {high}",
                    raised=ValueError if dtype.itemsize == 8 else RuntimeError,
                )


def _filled(flat: list[Any], dtype: DType) -> np.ndarray:
    if dtype.half:
        return np.array(flat, np.float32).astype(dtype.numpy)
    with np.errstate(over="ignore"):
        return np.array(flat, dtype.numpy)


def _converted(array: np.ndarray, dtype: DType) -> np.ndarray:
    if array.dtype.kind == "c" and not dtype.is_complex:
        array = array.real
    with np.errstate(all="ignore"):
        made: np.ndarray = halfway(array, dtype.numpy).astype(dtype.numpy)
        return made


__all__ = ["array_of", "as_tensor", "from_numpy", "tensor"]
