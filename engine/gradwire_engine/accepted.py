"""Which dtypes torch's kernels are made for, where a category of them says too much or too little.

A declaration's `takes` names whole categories; what it can't say is said here, in groups that tell
halves from other floats. For arrays, tensors and specs alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from gradwire_engine.errors import error
from gradwire_engine.promote import promote_types
from gradwire_engine.spec import FLOAT, DType

BOOLS, INTEGERS, HALVES, FLOATS, COMPLEX = "bool", "integer", "half", "floating", "complex"
"""The groups of dtypes; FLOATS are float32 and float64."""

WHOLE = (BOOLS, INTEGERS)

_OF_KIND = {"b": BOOLS, "c": COMPLEX, "f": FLOATS, "V": FLOATS}


def group(dtype: Any) -> str:
    """The group of a dtype, ours or NumPy's."""
    found = _OF_KIND.get(dtype.kind, INTEGERS)
    return HALVES if found is FLOATS and dtype.itemsize == 2 else found


def refuse(
    asked: str,
    refused: Collection[str],
    *operands: Any,
    raised: type[Exception] = NotImplementedError,
) -> None:
    """Raise if an operand's dtype is of one of these groups; None is no operand."""
    for operand in operands:
        if operand is not None and group(operand.dtype) in refused:
            raise error(
                "dtype_mismatch",
                f"{asked}: not defined for {operand.dtype.name} here",
                f"it takes no {' or '.join(refused)} tensors in this place; convert first",
                raised=raised,
            )


def refusing(asked: str, *refused: str) -> Callable[[dict[str, Any]], None]:
    """The same as the `check` of an elementwise op of `input`."""
    return lambda named: refuse(asked, refused, named["input"])


def one_dtype(asked: str, **operands: Any) -> None:
    """Raise unless all operands have one dtype; None is no operand."""
    given = {name: x.dtype.name for name, x in operands.items() if x is not None}
    if len(set(given.values())) > 1:
        shown = ", ".join(f"{name} is {dtype}" for name, dtype in given.items())
        raise error("dtype_mismatch", f"{asked}: {shown}", "convert them to one dtype")


def norm_dtype(asked: str, own: DType, dtype: DType | None) -> None:
    """Raise unless a norm is of floating or complex numbers, and its dtype holds all of them.

    Complex numbers are not real ones that a dtype happens to hold, nor the other way round.
    """
    if own.category < FLOAT:
        raise error(
            "dtype_mismatch", f"{asked}: takes floating or complex, not {own.name}", "convert first"
        )
    if dtype is not None and (own.category, dtype) != (dtype.category, promote_types(own, dtype)):
        raise error(
            "dtype_mismatch",
            f"{asked}: dtype {dtype.name} does not hold all numbers of {own.name}",
            "name a dtype of the same kind that is no narrower, or convert the tensor first",
        )


def beside_input(asked: str, input: Any, **parameters: Any) -> None:
    """Raise unless a norm's parameters have the input's dtype, or all float32 beside a half.

    So a half network keeps its statistics in float32.
    """
    given = {name: x for name, x in parameters.items() if x is not None}
    wide = group(input.dtype) == HALVES and all(x.dtype.name == "float32" for x in given.values())
    if not wide:
        one_dtype(asked, input=input, **given)
