"""What every test of the engine runs under: quiet floating-point flags, the strict device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.engine.libraries import ALL

from gradwire_engine.mode import using


@pytest.fixture(params=ALL)
def each_library(request: pytest.FixtureRequest) -> Iterator[None]:
    """The test on NumPy, on the stand-in for CuPy, and on CuPy where there is a GPU."""
    with using(device=request.param):
        yield


@pytest.fixture(autouse=True)
def _no_floating_point_warnings() -> Iterator[None]:
    """NaN and infinities are results like others, as in torch; a host runs requests like this."""
    with np.errstate(all="ignore"):
        yield
