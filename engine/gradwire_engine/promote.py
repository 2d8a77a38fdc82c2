"""Type promotion as in torch: dimensioned tensors first, then 0-d tensors, then Python numbers.

The rules follow torch's documentation of type promotion: a Python number or a 0-d tensor changes
the result's dtype only if its category (bool < integer < float < complex) is higher.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, reduce

import numpy as np

from gradwire_engine.errors import error
from gradwire_engine.spec import (
    COMPLEX,
    FLOAT,
    DType,
    Shape,
    Spec,
    bool_,
    complex_of,
    dtype_of,
    float32,
    int64,
)


class Weak:
    """A Python number as an operand: it has a kind (bool, int, float, complex), but no dtype."""

    __slots__ = ("dtype", "kind")
    shape: Shape = ()

    def __init__(self, kind: type, dtype: DType) -> None:
        self.kind = kind
        self.dtype = dtype

    def __str__(self) -> str:
        return f"a Python {self.kind.__name__}"


Operand = Spec | Weak


@cache
def weak_kinds(default: DType) -> dict[type, Weak]:
    """The weak operand of each Python number type, where `default` is the default float dtype."""
    return {
        bool: Weak(bool, bool_),
        int: Weak(int, int64),
        float: Weak(float, default),
        complex: Weak(complex, complex_of(default)),
    }


@cache
def promote_types(a: DType, b: DType) -> DType:
    """The dtype that holds both: torch.promote_types."""
    if a is b:
        return a
    low, high = (a, b) if a.category <= b.category else (b, a)
    if high.category == COMPLEX and low.category == FLOAT:
        return high if high.itemsize >= 2 * low.itemsize else complex_of(low)
    if low.category != high.category:
        return high
    if high.category == FLOAT and a.itemsize == b.itemsize == 2:
        return float32  # float16 with bfloat16: neither holds the other
    if high.category == COMPLEX or high.category == FLOAT:
        return a if a.itemsize > b.itemsize else b
    return dtype_of(np.promote_types(a.numpy, b.numpy))


def _join(dtypes: list[DType]) -> DType | None:
    return reduce(promote_types, dtypes) if dtypes else None


def _combine(higher: DType | None, lower: DType | None) -> DType | None:
    """The result of two priority classes: the lower one only counts by its category."""
    if higher is None or lower is None:
        return higher or lower
    if higher.category == COMPLEX:
        return higher
    if higher.category == FLOAT:
        return complex_of(higher) if lower.category == COMPLEX else higher
    if higher is bool_ or lower.category >= FLOAT:
        return promote_types(higher, lower)
    return higher


def result_type(operands: Iterable[Operand]) -> DType:
    """The dtype of an operation on these operands: torch.result_type for any number of them."""
    dims: list[DType] = []
    zeros: list[DType] = []
    weak: list[DType] = []
    for operand in operands:
        place = weak if isinstance(operand, Weak) else dims if operand.shape else zeros
        place.append(operand.dtype)
    found = _combine(_join(dims), _combine(_join(zeros), _join(weak)))
    return float32 if found is None else found


def broadcast_shapes(asked: str, *shapes: Shape) -> Shape:
    """The shape that all of these broadcast to, aligned at the last axis; else shape_mismatch."""
    out: list[int] = []
    for axis in range(1, max(map(len, shapes), default=0) + 1):
        size = 1
        for shape in shapes:
            if len(shape) >= axis and shape[-axis] != 1:
                if size not in (1, shape[-axis]):
                    raise error(
                        "shape_mismatch",
                        f"{asked}: shapes {', '.join(map(str, shapes))} do not broadcast: "
                        f"at axis -{axis} the sizes are {size} and {shape[-axis]}",
                        "sizes must be equal or 1 at each axis, counted from the last; "
                        "reshape or unsqueeze one of them",
                    )
                size = shape[-axis]
        out.append(size)
    return tuple(reversed(out))
