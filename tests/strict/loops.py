"""Which loop of a ufunc runs: the first, in CuPy's order, that every operand casts to safely."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

API = Path(__file__).parent / "cupy_api"
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_LETTERS = {"E": BFLOAT16, "q": np.dtype(np.int64), "Q": np.dtype(np.uint64)}
_INTEGERS = "bBhHiIlLqQ"

DType = np.dtype[Any]


class Loop(NamedTuple):
    """The dtypes that a loop takes and those it gives: none where CuPy refuses."""

    takes: tuple[DType, ...]
    gives: tuple[DType, ...]


def _dtypes(letters: str) -> tuple[DType, ...]:
    return tuple(_LETTERS.get(c) or np.dtype(c) for c in letters if c != "!")


def _loops(token: str) -> list[Loop]:
    spelled = [token.replace("Z", c) for c in _INTEGERS] if "Z" in token else [token]
    return [Loop(*(_dtypes(side) for side in s.split("->"))) for s in spelled]


@cache
def table(file: str) -> dict[str, tuple[Loop, ...]]:
    """Every function of one table with its loops."""
    found: dict[str, tuple[Loop, ...]] = {}
    loops: tuple[Loop, ...] = ()
    for line in (API / file).read_text().splitlines():
        if line.startswith("#") or not line:
            continue
        if line.startswith(" "):
            found |= dict.fromkeys(line.split(), loops)
        else:
            loops = tuple(loop for token in line.split() for loop in _loops(token))
    return found


def operand_types(operands: tuple[Any, ...]) -> tuple[DType, ...]:
    """Each operand's dtype; a Python number takes that of the arrays and scalars beside it."""
    strong = [x.dtype for x in operands if hasattr(x, "dtype")]
    return tuple(x.dtype if hasattr(x, "dtype") else np.result_type(*strong, x) for x in operands)


def choose(name: str, loops: tuple[Loop, ...], operands: tuple[Any, ...]) -> Loop:
    """The loop for these operands; a TypeError where CuPy has none."""
    return _first(name, loops, operand_types(operands))


@cache
def _first(name: str, loops: tuple[Loop, ...], types: tuple[DType, ...]) -> Loop:
    for loop in loops:
        if all(np.can_cast(t, wanted) for t, wanted in zip(types, loop.takes, strict=True)):
            if not loop.gives:
                raise TypeError(f"cupy_{name} doesn't support bool")
            return loop
    raise TypeError(f"Wrong type ({tuple(map(str, types))}) of arguments for cupy_{name}")


def giving(name: str, loops: tuple[Loop, ...], dtype: DType) -> Loop:
    """The loop that gives `dtype`, as the dtype argument of a ufunc asks."""
    for loop in loops:
        if loop.gives and all(given == dtype for given in loop.gives):
            return loop
    raise TypeError(f"Wrong type ({dtype}) of arguments for cupy_{name}")
