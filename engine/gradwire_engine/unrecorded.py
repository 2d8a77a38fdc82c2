"""What torch keeps no derivative of and says so at the call, where gradients are recorded.

Whole numbers and bools of what requires grad; and what two facts of a declaration say.
real_gradients: the op is recorded for real results only, in place for all. settled: operands by
which it has no derivative, so that none of them may require grad.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.mode import local


def complex_result(asked: str) -> GradwireError:
    """What is said of a complex result that would require grad."""
    return error(
        "dtype_mismatch",
        f"{asked} does not support automatic differentiation for outputs with complex dtype",
        "detach() what requires grad, or take real and imaginary parts apart",
        raised=RuntimeError,
    )


def unrecorded(asked: str, results: Sequence[Any]) -> GradwireError:
    """What is said where results of these specs would have to be recorded."""
    if any(y.dtype.is_complex for y in results):
        return complex_result(asked)
    return error(
        "dtype_mismatch",
        f"{asked}: the result is {results[0].dtype.name}, but an operand requires grad",
        "detach() what requires grad: whole numbers and bools have no gradient",
        raised=RuntimeError,
    )


def refuse_complex(asked: str, results: Iterable[Any]) -> None:
    """Raise if one of an op's results is complex and requires grad, but for its form in place."""
    if not local.state.writing and any(y.dtype.is_complex and y.requires_grad for y in results):
        raise complex_result(asked)


def refuse_settled(asked: str, settled: Sequence[str], named: dict[str, Any]) -> None:
    """Raise if gradients are recorded and one of these operands requires one."""
    if not local.state.grad:
        return
    for name in settled:
        if getattr(named.get(name), "requires_grad", False):
            raise error(
                "invalid_argument",
                f"{asked} is not differentiable with respect to {name!r}, which requires grad",
                f"give {name}.detach()",
                raised=RuntimeError,
            )
