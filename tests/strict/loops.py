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


def choose(name: str, loops: tuple[Loop, ...], operands: tuple[Any, ...]) -> Loop:
    """The loop for these operands; a TypeError where CuPy has none."""
    return _first(name, loops, *_types(operands))


def _types(operands: tuple[Any, ...]) -> tuple[tuple[DType, ...], tuple[type | None, ...]]:
    """Each operand's dtype, and for Python numbers their class if they are weak.

    They are unless their kind is above that of the arrays and NumPy scalars beside them.
    """
    weak = tuple(None if isinstance(x, bool) or hasattr(x, "dtype") else type(x) for x in operands)
    types = tuple(x.dtype if hasattr(x, "dtype") else np.result_type(x) for x in operands)
    strong = [_kind(t.type) for t, w in zip(types, weak, strict=True) if w is None]
    if not strong or max(strong) < max((_kind(w) for w in weak if w), default=0):
        return types, (None,) * len(types)
    return types, weak


def _kind(type_: type) -> int:
    """Bool below integers below the rest."""
    return 0 if issubclass(type_, np.bool_) else 1 if issubclass(type_, np.integer | int) else 2


@cache
def _first(
    name: str,
    loops: tuple[Loop, ...],
    types: tuple[DType, ...],
    weak: tuple[type | None, ...],
) -> Loop:
    for loop in loops:
        if all(map(_fits, types, weak, loop.takes)):
            if not loop.gives:
                raise TypeError(f"cupy_{name} doesn't support bool")
            return loop
    raise TypeError(f"Wrong type ({tuple(map(str, types))}) of arguments for cupy_{name}")


def _fits(dtype: DType, weak: type | None, wanted: DType) -> bool:
    """Whether an operand casts safely, or is a Python number that doesn't widen what is wanted."""
    if np.can_cast(dtype, wanted):
        return True
    try:
        return weak is not None and np.result_type(weak(0), wanted) == wanted
    except TypeError:
        return False


def giving(name: str, loops: tuple[Loop, ...], dtype: DType) -> Loop:
    """The loop that gives `dtype`, as the dtype argument of a ufunc asks."""
    for loop in loops:
        if loop.gives and all(given == dtype for given in loop.gives):
            return loop
    raise TypeError(f"Wrong type ({dtype}) of arguments for cupy_{name}")
