"""Matrix products, and the little of scipy.linalg that cupyx has."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from tests.strict.host import Host, need_array, to_device
from tests.strict.loops import BFLOAT16


def matmul(a: Any, b: Any, /, out: Any = None, *, dtype: Any = None, axes: Any = None) -> Any:
    """`a @ b`; bfloat16 accumulates in float32, as cuBLAS does."""
    left, right = need_array(a, "matmul: a"), need_array(b, "matmul: b")
    result_dtype = np.result_type(left, right) if dtype is None else np.dtype(dtype)
    with np.errstate(all="ignore"):
        result = np.matmul(_wide(left), _wide(right), **({} if axes is None else {"axes": axes}))
    result = np.asarray(result).astype(result_dtype, copy=False)
    if out is None:
        return to_device(result)
    target = need_array(out, "matmul: out")
    if target.shape != result.shape:
        raise ValueError(f"matmul: out is {target.shape}, the result {result.shape}")
    np.copyto(target, result, casting="same_kind")
    return out


def _wide(array: Host) -> Host:
    return array.astype(np.float32) if array.dtype == BFLOAT16 else array


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = False,
) -> Any:
    """One triangular system; no stacks of them, and a zero on the diagonal gives no error."""
    left, right = need_array(a, "a"), need_array(b, "b")
    if left.ndim != 2 or right.ndim not in (1, 2):
        raise ValueError("expected square matrix")
    try:
        solved = scipy.linalg.solve_triangular(
            left, right, trans=trans, lower=lower, unit_diagonal=unit_diagonal, check_finite=False
        )
    except scipy.linalg.LinAlgError:
        solved = np.full(right.shape, np.nan, np.result_type(left, right))
    return to_device(solved)


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """LU with pivots of one matrix."""
    return to_device(scipy.linalg.lu(_matrix(a), permute_l, check_finite=False))  # type: ignore[call-overload]


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """LU in packed form and the pivots, of one matrix."""
    packed, pivots = scipy.linalg.lu_factor(_matrix(a), check_finite=False)
    return to_device((packed, pivots.astype(np.int32)))


def lu_solve(
    lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve with what lu_factor gave."""
    packed, pivots = (need_array(x, "lu_and_piv") for x in lu_and_piv)
    right = need_array(b, "b")
    return to_device(scipy.linalg.lu_solve((packed, pivots), right, trans, check_finite=False))


def expm(a: Any) -> Any:
    """The matrix exponential of one matrix."""
    return to_device(scipy.linalg.expm(_matrix(a)))


def _matrix(a: Any) -> Host:
    matrix = need_array(a, "a")
    if matrix.ndim != 2:
        raise ValueError(f"expected one matrix, not an array of {matrix.ndim} axes")
    return matrix
