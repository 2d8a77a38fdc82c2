"""Functions whose result differs from NumPy's on CuPy, or that NumPy spells in another way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from tests.strict.host import Host, checked_dtype, is_device, to_host
from tests.strict.loops import BFLOAT16


def _array(
    obj: Any,
    dtype: Any = None,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    *,
    blocking: bool = False,
) -> Host:
    if subok:
        raise NotImplementedError
    return _supported(
        np.array(_any_host(obj), dtype, copy=copy or None, order=order, ndmin=ndmin)  # type: ignore[call-overload]
    )


def _asarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, blocking: bool = False
) -> Host:
    return _supported(np.asarray(_any_host(a), dtype, order, copy=copy))


def _any_host(value: Any) -> Any:
    """An explicit conversion takes host arrays too, and copies them."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return value.host if is_device(value) else to_host(value)


def _supported(array: Host) -> Host:
    checked_dtype(array.dtype)
    return array


def _take(a: Host, indices: Any, axis: int | None = None, out: Host | None = None) -> Host:
    """Indices out of range go round."""
    return np.take(a, np.asarray(indices), axis=axis, out=out, mode="wrap")


def _put(a: Host, ind: Any, v: Any, mode: str = "wrap") -> None:
    np.put(a, np.asarray(ind), v, mode=mode)  # type: ignore[arg-type]


def _wrapped(indices: Host, a: Host, axis: int | None) -> Host:
    length = a.size if axis is None else a.shape[axis]
    return indices % length if length else indices


def _take_along_axis(a: Host, indices: Host, axis: int | None) -> Host:
    return np.take_along_axis(a, _wrapped(indices, a, axis), axis)


def _put_along_axis(arr: Host, indices: Host, values: Any, axis: int | None) -> None:
    np.put_along_axis(arr, _wrapped(indices, arr, axis), values, axis)


def _nonzero(a: Host) -> tuple[Host, ...]:
    if a.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed.")
    return np.nonzero(a)


def _copyto(dst: Host, src: Any, casting: str = "same_kind", where: Host | None = None) -> None:
    np.copyto(dst, src, casting=casting, where=True if where is None else where)  # type: ignore[arg-type]


def _sorting(sort: Callable[..., Any]) -> Callable[..., Any]:
    """Sorting is stable, and knows no bfloat16 and no arrays without axes."""

    def sorted_(a: Host, axis: int | None = -1, kind: str | None = None) -> Host:
        if kind not in (None, "stable"):
            raise ValueError("kind can only be None or 'stable'")
        _sortable(a)
        result: Host = sort(a, axis=axis, kind="stable")
        return result

    return sorted_


def _partitioning(partition: Callable[..., Any]) -> Callable[..., Any]:
    def partitioned(a: Host, kth: Any, axis: int | None = -1) -> Host:
        _sortable(a)
        result: Host = partition(a, kth, axis=axis)
        return result

    return partitioned


def _sortable(a: Host) -> None:
    if a.ndim == 0:
        raise np.exceptions.AxisError("Sorting arrays with the rank of zero is not supported")
    if a.dtype == BFLOAT16:
        raise NotImplementedError(f"Sorting arrays with dtype '{a.dtype}' is not supported")


def _triangle(keep: Callable[..., Host]) -> Callable[..., Host]:
    """CuPy goes by way of `where`, which has no bfloat16 loop and gives float32."""

    def triangle(m: Host, k: int = 0) -> Host:
        result = keep(m, k)
        return result.astype(np.float32) if m.dtype == BFLOAT16 else result

    return triangle


def _result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    return np.result_type(*[getattr(a, "dtype", a) for a in arrays_and_dtypes])


def _can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(getattr(from_, "dtype", from_), to, casting=casting)


_raising = ContextVar("_raising", default=False)


@contextmanager
def errstate(*, linalg: str) -> Iterator[None]:
    """cuSOLVER's status is looked at while the block runs, where linalg is "raise"."""
    before = _raising.set(linalg == "raise")
    try:
        yield
    finally:
        _raising.reset(before)


def _unchecked(compute: Callable[..., Any]) -> Callable[..., Any]:
    """cuSOLVER's status isn't looked at by default: where NumPy raises, the result is garbage.

    Here NaN of the shape that the first argument (for solve and lstsq the last) would have given.
    """

    def computed(*args: Any, **kwargs: Any) -> Any:
        try:
            return compute(*args, **kwargs)
        except np.linalg.LinAlgError as problem:
            undone = "ingular" in str(problem) or "positive definite" in str(problem)
            if undone and not _raising.get():
                return np.full_like(args[-1], np.nan)
            raise

    return computed


def _einsum(*operands: Any, dtype: Any = None, optimize: Any = False) -> Host:
    """NumPy's einsum without the argument `out`, which CuPy's doesn't take."""
    result: Host = np.einsum(*operands, dtype=dtype, optimize=optimize)
    return result


def _solve(a: Host, b: Host) -> Host:
    """Solve systems as CuPy does: stacks must have one shape, and no matrix is broadcast."""
    if b.ndim > 1 and a.shape[:-2] != b.shape[:-2]:
        raise ValueError("a must have (..., M, M) shape and b must have (..., M, K)")
    return np.linalg.solve(a, b)


DIFFERING: dict[str, Callable[..., Any]] = {
    "array": _array,
    "asarray": _asarray,
    "asanyarray": _asarray,
    "take": _take,
    "put": _put,
    "take_along_axis": _take_along_axis,
    "put_along_axis": _put_along_axis,
    "nonzero": _nonzero,
    "copyto": _copyto,
    "sort": _sorting(np.sort),
    "argsort": _sorting(np.argsort),
    "partition": _partitioning(np.partition),
    "argpartition": _partitioning(np.argpartition),
    "tril": _triangle(np.tril),
    "triu": _triangle(np.triu),
    "result_type": _result_type,
    "can_cast": _can_cast,
    "einsum": _einsum,
}
LINALG: dict[str, Callable[..., Any]] = {
    "cholesky": _unchecked(np.linalg.cholesky),
    "inv": _unchecked(np.linalg.inv),
    "solve": _unchecked(_solve),
}
# Answers about arrays, which stay on the host.
_RAW = (
    "shape ndim size can_cast result_type iscomplexobj isrealobj isfortran may_share_memory "
    "shares_memory copyto put put_along_axis fill_diagonal"
)
RAW = frozenset(_RAW.split())
