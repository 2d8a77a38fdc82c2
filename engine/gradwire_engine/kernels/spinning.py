"""How long the threads of NumPy's BLAS look out for the next product, busily, on a core each.

OpenBLAS's wait for 2²⁸ cycles, a tenth of a second. All the while they hold the cores on which the
engine's own threads would do elementwise work, so that a model that has both runs them on one.
After 2²⁰ cycles, some 400 µs, they sleep: the next product of a small model finds them awake, and
the engine's longer work between products of a large one has the core.
The time is a setting of the environment that OpenBLAS reads when it is loaded, with NumPy. Where
NumPy came first OpenBLAS reads it again, and its threads, which may spin already, begin anew.
"""

from __future__ import annotations

import ctypes
import os
import sys

SETTING = "OPENBLAS_THREAD_TIMEOUT"
CYCLES = 20
"""The logarithm of the cycles, to base 2."""
_NUMPYS = "numpy._core._multiarray_umath"


def wait_briefly() -> None:
    """Set this for the process, and those that it starts, unless its environment says otherwise."""
    if SETTING in os.environ:
        return
    os.environ[SETTING] = str(CYCLES)
    if _NUMPYS in sys.modules:
        _read_again()


def _read_again() -> None:
    """Have the OpenBLAS of NumPy's wheel read its settings; another BLAS stays as it is.

    Ending its threads is what it does at each fork; the next product begins them.
    """
    try:
        library = ctypes.CDLL(sys.modules[_NUMPYS].__file__)
        read, end = library.openblas_read_env, library.blas_thread_shutdown_
    except (OSError, AttributeError, TypeError):
        return
    read()
    end()
