"""Elementwise functions: CuPy's loops and arguments around NumPy's arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.strict import indexing
from tests.strict.host import (
    HOST_ARRAY,
    SCALARS,
    Host,
    checked_dtype,
    is_device,
    need_array,
    to_device,
)
from tests.strict.loops import BFLOAT16, DType, Loop, choose, giving

# The dtypes that CuPy's atomic operations know, by ufunc.
_WORDS = "iIlLqQ"
SCATTERED = {
    "add": _WORDS + "efd",
    "subtract": "iI",
    "maximum": _WORDS + "fd",
    "minimum": _WORDS + "fd",
    "bitwise_and": _WORDS,
    "bitwise_or": _WORDS,
    "bitwise_xor": _WORDS,
}
REDUCING = {"add": ("sum", "cumsum"), "multiply": ("prod", "cumprod")}


def operand(value: Any) -> Any:
    """An operand on the host: a device array's array, a scalar as it is, nothing else."""
    if is_device(value):
        return value.host
    if isinstance(value, SCALARS):
        return value
    hint = f": {HOST_ARRAY}" if isinstance(value, np.ndarray) else ""
    raise TypeError(f"Unsupported type {type(value)}{hint}")


class Ufunc:
    """One of CuPy's ufuncs. `nin` operands, then outputs by position or as `out`."""

    def __init__(self, name: str, loops: tuple[Loop, ...], compute: Callable[..., Any]) -> None:
        self.__name__ = self.name = name
        self.loops, self.compute = loops, compute
        self.nin, self.nout = len(loops[0].takes), len(loops[-1].gives)
        self.nargs = self.nin + self.nout

    def __repr__(self) -> str:
        return f"<ufunc 'cupy_{self.name}'>"

    def __call__(
        self, *args: Any, out: Any = None, dtype: Any = None, casting: str = "same_kind"
    ) -> Any:
        """Apply to operands; `where`, `order` and `subok` are NumPy's alone, hence a TypeError."""
        if not self.nin <= len(args) <= self.nargs:
            raise TypeError(
                f"Wrong number of arguments for 'cupy_{self.name}'. It must be {self.nin} or "
                f"{self.nargs} (with outputs), but given {len(args)}."
            )
        outputs = self._outputs(args[self.nin :], out)
        operands = tuple(operand(a) for a in args[: self.nin])
        if dtype is None:
            loop = choose(self.name, self.loops, operands)
        else:
            loop = giving(self.name, self.loops, checked_dtype(dtype))
        results = self._run(loop, operands)
        stored = [_store(r, o, casting) for r, o in zip(results, outputs, strict=True)]
        return stored[0] if self.nout == 1 else tuple(stored)

    def _outputs(self, positional: tuple[Any, ...], out: Any) -> tuple[Any, ...]:
        if out is not None and positional:
            raise ValueError("Cannot specify 'out' as both a positional and keyword argument")
        given = positional if out is None else out if isinstance(out, tuple) else (out,)
        if given and len(given) != self.nout:
            raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
        return given or (None,) * self.nout

    def _run(self, loop: Loop, operands: tuple[Any, ...]) -> list[Host]:
        """NumPy's result in the dtypes of the loop; bfloat16 by way of float32, as in CuPy."""
        cast = [
            np.asarray(x, dtype=t).astype(_arithmetic(t), copy=False)
            for x, t in zip(operands, loop.takes, strict=True)
        ]
        with np.errstate(all="ignore"):
            result = self.compute(*cast)
            results = result if isinstance(result, tuple) else (result,)
            return [
                np.asarray(r).astype(t, copy=False)
                for r, t in zip(results, loop.gives, strict=True)
            ]

    def outer(self, a: Any, b: Any, **kwargs: Any) -> Any:
        """The function on every pair of elements."""
        left, right = need_array(a, "outer: a"), need_array(b, "outer: b")
        return self(to_device(left.reshape(left.shape + (1,) * right.ndim)), b, **kwargs)

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        """Unbuffered in place operation, for the few functions that have an atomic one."""
        if self.name not in SCATTERED:
            raise NotImplementedError(f"`cupy_{self.name}.at` is not supported yet")
        target = need_array(a, f"{self.name}.at: a")
        indexing.scatter(self.name, self.compute, target, indices, operand(b), SCATTERED[self.name])

    def reduce(
        self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        """Only of add and multiply, as in CuPy."""
        return getattr(array, self._reduction(0))(axis, dtype, out, keepdims)

    def accumulate(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """Only of add and multiply, as in CuPy."""
        return getattr(array, self._reduction(1))(axis, dtype, out)

    def _reduction(self, which: int) -> str:
        if self.name not in REDUCING:
            method = ("reduce", "accumulate")[which]
            raise NotImplementedError(f"`cupy_{self.name}.{method}` is not supported yet")
        return REDUCING[self.name][which]


def _arithmetic(dtype: DType) -> DType:
    return np.dtype(np.float32) if dtype == BFLOAT16 else dtype


def _store(result: Host, out: Any, casting: str) -> Any:
    """The result as a new array, or in `out`, whose shape and dtype have to fit."""
    if out is None:
        return to_device(result)
    target = need_array(out, "out")
    if target.shape != result.shape:
        raise ValueError(f"Out shape is mismatched: {target.shape} for a result of {result.shape}")
    if not np.can_cast(result.dtype, target.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast output from {result.dtype} to {target.dtype} by the rule '{casting}'"
        )
    np.copyto(target, result, casting="unsafe")
    return out
