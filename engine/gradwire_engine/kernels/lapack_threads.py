"""The threads of SciPy's own BLAS, where its wheel brings one beside NumPy's.

Such a wheel has a second pool of threads. After a product NumPy's threads wait for the next one
busily, for some milliseconds; meanwhile SciPy's would get no core, and whoever waits for them
waits long. A factorisation of some hundred rows gains nothing from a second thread: it gets one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any

PREFIX = "scipy_openblas_"
"""What the names in a BLAS begin with that a wheel brings along for itself."""


class Pool:
    """The number of threads of a BLAS. Calls that want one thread may overlap."""

    def __init__(self, library: Any) -> None:
        self._get = getattr(library, f"{PREFIX}get_num_threads")
        self._set = getattr(library, f"{PREFIX}set_num_threads")
        self._lock, self._inside, self._before = Lock(), 0, 1

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


@cache
def pool() -> Pool | None:
    """That of SciPy's LAPACK; None where it has none of its own, or it can't be reached."""
    try:
        return Pool(ctypes.CDLL(import_module("scipy.linalg.cython_lapack").__file__))
    except (ImportError, OSError, AttributeError):
        return None
