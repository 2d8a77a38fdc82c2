"""The threads of the BLAS that a wheel brings along: NumPy's has one of its own, and SciPy's too.

Two such pools get in each other's way. After a product NumPy's threads wait for the next one
busily, for some milliseconds; meanwhile SciPy's would get no core, and whoever waits for them
waits long. A factorisation of some hundred rows gains nothing from a second thread: it gets one.
Of many small products each is best done by one thread, and as many at a time as there are cores.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

from gradwire_engine.locks import lock


class Pool:
    """The number of threads of a BLAS. Calls that want one thread may overlap."""

    def __init__(self, library: Any, ending: str) -> None:
        self._get = getattr(library, f"scipy_openblas_get_num_threads{ending}")
        self._set = getattr(library, f"scipy_openblas_set_num_threads{ending}")
        self._lock, self._inside, self._before = lock(), 0, 1

    def threads(self) -> int:
        """How many a call may use now."""
        found: int = self._get()
        return found

    def use(self, count: int) -> None:
        """Have calls use so many from now on."""
        self._set(count)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One thread, until the last that wants it so is done."""
        with self._lock:
            if not self._inside:
                self._before = self._get()
                self._set(1)
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    self._set(self._before)


def _pool(module: str, ending: str) -> Pool | None:
    """That of a module; None where it has none of its own, or it can't be reached."""
    try:
        return Pool(ctypes.CDLL(import_module(module).__file__), ending)
    except (ImportError, OSError, AttributeError):
        return None


@cache
def of_lapack() -> Pool | None:
    """That of SciPy's LAPACK."""
    return _pool("scipy.linalg.cython_lapack", "")


@cache
def of_products() -> Pool | None:
    """That of NumPy's products."""
    return _pool("numpy._core._multiarray_umath", "64_")
