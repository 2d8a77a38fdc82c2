"""The array libraries that the engine's tests run on: NumPy, CuPy's stand-in, and CuPy itself.

CuPy is among them where there is a GPU; nothing is to be set for that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tests.strict.backend  # noqa: F401 (registers the device "strict")

from gradwire_engine.arrays import devices

GPU = ("cuda",) if "cuda" in devices() else ()
OTHERS = ("strict", *GPU)
"""Devices whose results are held against those of "cpu"."""
ALL = ("cpu", *OTHERS)


def assert_as_on_numpy(library: str, found: Any, wanted: Any, rtol: float, atol: float) -> None:
    """Within these tolerances on the stand-in, which computes by NumPy.

    A GPU adds and multiplies in orders and with functions of its own: a thousand times the
    tolerance of float64, and twice that of other dtypes, are its own.
    """
    more = 1 if library == "strict" else 1000 if rtol and rtol < 1e-9 else 2
    np.testing.assert_allclose(found, wanted, more * rtol, more * atol)
