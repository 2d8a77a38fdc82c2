"""How long the threads of NumPy's BLAS look out for the next product, busily, on a core each.

OpenBLAS's wait for 2²⁸ cycles, a tenth of a second. All the while they hold the cores on which the
engine's own threads would do elementwise work, so that a model that has both runs them on one.
After 2¹⁶ cycles, some 25 µs, they sleep: a product that follows at once still finds them awake.
The time is a setting of the environment that OpenBLAS reads when it is loaded, with NumPy.
"""

from __future__ import annotations

import os

SETTING = "OPENBLAS_THREAD_TIMEOUT"
CYCLES = 16
"""The logarithm of the cycles, to base 2."""


def wait_briefly() -> None:
    """Set this for the process, unless its environment says otherwise. Call it before NumPy is
    imported: afterwards it holds for the processes that this one starts, and not for itself.
    """
    os.environ.setdefault(SETTING, str(CYCLES))
