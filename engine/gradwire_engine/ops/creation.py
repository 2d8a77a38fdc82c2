"""Tensors from nothing: from data, filled, counted; their dtype and device are attributes."""

from __future__ import annotations

from functools import cache
from math import inf
from typing import Any

import ml_dtypes
import numpy as np

from gradwire_engine.arrays import Array, halfway
from gradwire_engine.batch.rules import leading
from gradwire_engine.errors import dtype_mismatch, invalid_argument
from gradwire_engine.families import composite, primitive
from gradwire_engine.laid import LIKE_FIRST
from gradwire_engine.mode import local
from gradwire_engine.promote import Weak
from gradwire_engine.signature import Data, Device, Ints
from gradwire_engine.spec import (
    BOOL,
    COMPLEX,
    INTEGER,
    DType,
    Number,
    Spec,
    bool_,
    complex_of,
    dtype_of,
    float16,
    int64,
)
from gradwire_engine.tensor import Tensor


def default_dtype() -> DType:
    """The dtype of floats that nothing else decides."""
    return local.state.default_dtype


def sized(asked: str, size: Ints) -> Ints:
    """A size whose parts are all >= 0."""
    if any(n < 0 for n in size):
        raise invalid_argument(f"{asked}: {list(size)} has a negative size", "sizes are >= 0")
    return size


def _filled(size: Ints, dtype: DType | None) -> Spec:
    return Spec(sized("creation", size), dtype or default_dtype(), "")


@composite()
def tensor(data: Data, *, dtype: DType | None = None, device: Device | None = None) -> Array:
    """A tensor from a number, a nested list or an array; ints are int64, floats the default."""
    if isinstance(data, Tensor):
        data = data.numpy()
    wanted = None if dtype is None else dtype.numpy
    try:
        whole = isinstance(data, int) and not isinstance(data, bool)  # goes not by way of float64
        made = np.array(data, dtype=wanted if whole else None)
    except OverflowError as problem:
        raise invalid_argument(f"tensor: {problem}", "choose a wider dtype") from problem
    except (ValueError, TypeError) as problem:
        raise invalid_argument(
            f"tensor: {problem}",
            "give a number or a nested list of numbers whose rows are equally long",
            raised=ValueError,
        ) from problem
    if dtype is None and not hasattr(data, "dtype"):
        wanted = _natural(made).numpy
    stored = _stored(made, wanted)
    if local.state.meter is not None:
        local.state.meter.charge(stored.nbytes)
    return Tensor.of(stored, device=device or local.state.device)


def _natural(made: np.ndarray) -> DType:
    """The dtype that Python numbers stand for."""
    kind = made.dtype.kind
    if kind == "b":
        return bool_
    if kind in "iu":
        return int64
    if kind == "c":
        return complex_of(default_dtype())
    if kind == "f":
        return default_dtype()
    raise invalid_argument(
        f"tensor: the data hold {made.dtype}, which are not numbers",
        "give numbers or bools",
        raised=ValueError if kind == "O" else TypeError,
    )


def _stored(made: np.ndarray, wanted: np.dtype | None) -> np.ndarray:
    """The array in the dtype wanted, row-major and its own."""
    if wanted is not None and made.dtype != wanted:
        if made.dtype.kind == "c" and wanted.kind not in "cb":
            raise dtype_mismatch(
                f"tensor: complex data as {wanted}", "take the real part, or a complex dtype"
            )
        with np.errstate(all="ignore"):
            made = halfway(made, wanted).astype(wanted)
    dtype_of(made.dtype)
    return np.ascontiguousarray(made) if made.ndim else made


@primitive(spec=_filled, exact=True)
def zeros(
    xp: Any, size: Ints, *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """Zeros of a size."""
    return xp.zeros(size, (dtype or default_dtype()).numpy)


@primitive(spec=_filled, exact=True)
def ones(xp: Any, size: Ints, *, dtype: DType | None = None, device: Device | None = None) -> Array:
    """Ones of a size."""
    return xp.ones(size, (dtype or default_dtype()).numpy)


@primitive(spec=_filled, exact=True)
def empty(
    xp: Any, size: Ints, *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """A tensor of a size for values to come; its elements are zeros, never what memory held."""
    return xp.zeros(size, (dtype or default_dtype()).numpy)


def number_dtype(value: Number) -> DType:
    """The dtype that a Python number stands for."""
    kind: Weak = local.state.weak[type(value)]
    return kind.dtype


def _full_spec(size: Ints, fill_value: Number, dtype: DType | None) -> Spec:
    return Spec(sized("full", size), dtype or number_dtype(fill_value), "")


@primitive(spec=_full_spec, exact=True)
def full(
    xp: Any,
    size: Ints,
    fill_value: Number,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """A tensor of a size filled with a number, whose dtype it has unless one is asked for."""
    wanted = dtype or number_dtype(fill_value)
    return xp.full(size, fits("full", fill_value, wanted), wanted.numpy)


def fits(asked: str, value: Any, dtype: DType, halves: bool = True) -> Any:
    """A number, or the only element of an array, as the array library stores it in a dtype.

    As in torch it is refused where that can't hold it: an imaginary part, what is too large, and
    in integers infinity and NaN. halves: false where half floats become infinite instead.
    """
    value = _number(value)
    if dtype.category == BOOL:
        return bool(value)
    if dtype.category == COMPLEX:
        return value
    if isinstance(value, complex):
        if value.imag:
            raise dtype_mismatch(
                f"{asked}: {value} cannot be converted to {dtype.name}", "choose a complex dtype"
            )
        value = value.real
    if dtype.category == INTEGER:
        return _whole(asked, value, dtype)
    if _largest(dtype) < abs(value) < inf:
        if halves or not dtype.half:
            raise _unfit(asked, value, dtype)
        return inf if value > 0 else -inf
    return float(np.float32(value)) if dtype is float16 else value


def _number(value: Any) -> int | float | complex:
    found = value.item() if hasattr(value, "item") else value
    return found if isinstance(found, int | float | complex) else float(found)


def _whole(asked: str, value: int | float, dtype: DType) -> int:
    info = np.iinfo(dtype.numpy)
    if value != value or abs(value) == inf:
        raise _unfit(asked, value, dtype)
    whole = int(value)
    exact = isinstance(value, int)
    if not info.min and exact and -info.max <= whole < 0:  # -1, unsigned, is the largest
        whole += info.max + 1
    if not info.min <= (whole if exact else value) <= info.max:
        raise _unfit(asked, value, dtype)
    return whole


@cache
def _largest(dtype: DType) -> float:
    return float(ml_dtypes.finfo(dtype.numpy).max)


def _unfit(asked: str, value: int | float, dtype: DType) -> Exception:
    kind = np.iinfo if dtype.category == INTEGER else ml_dtypes.finfo
    info = kind(dtype.numpy)
    return invalid_argument(
        f"{asked}: {value} does not fit into {dtype.name}",
        f"{dtype.name} holds {info.min} to {info.max}",
    )


def _like(input: Spec, dtype: DType | None) -> Spec:
    return input.with_(dtype=dtype)


@primitive(spec=_like, exact=True, batch=leading, lies=LIKE_FIRST)
def zeros_like(
    xp: Any, input: Array, *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """Zeros in the shape, dtype and device of another tensor."""
    return xp.zeros(input.shape, input.dtype if dtype is None else dtype.numpy)


@primitive(spec=_like, exact=True, batch=leading, lies=LIKE_FIRST)
def ones_like(
    xp: Any, input: Array, *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """Ones in the shape, dtype and device of another tensor."""
    return xp.ones(input.shape, input.dtype if dtype is None else dtype.numpy)


@primitive(spec=_like, exact=True, batch=leading, lies=LIKE_FIRST)
def empty_like(
    xp: Any, input: Array, *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """Zeros in the shape of another tensor, for values to come."""
    return xp.zeros(input.shape, input.dtype if dtype is None else dtype.numpy)


@primitive(spec=_like, exact=True, batch=leading, lies=LIKE_FIRST)
def full_like(
    xp: Any,
    input: Array,
    fill_value: Number,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """A number in the shape, dtype and device of another tensor."""
    wanted = dtype or dtype_of(input.dtype)
    return xp.full(input.shape, fits("full_like", fill_value, wanted), wanted.numpy)


def _one_count(b: Any) -> Any:
    return full((b.size,), b.call.inputs[0].size, dtype=int64, device=b.call.device)


@primitive(spec=lambda input: Spec((), int64, ""), exact=True, batch=_one_count)
def numel(xp: Any, input: Array) -> Array:
    """How many elements a tensor has."""
    return xp.full((), input.size, xp.int64)
