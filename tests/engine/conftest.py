"""What every test of the engine runs under: quiet floating-point flags, the strict device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tests.strict.backend  # noqa: F401 (registers the device "strict")

from gradwire_engine.mode import using


@pytest.fixture(params=["cpu", "strict"])
def each_library(request: pytest.FixtureRequest) -> Iterator[None]:
    """The test on NumPy, and on the stand-in for CuPy."""
    with using(device=request.param):
        yield


@pytest.fixture(autouse=True)
def _no_floating_point_warnings() -> Iterator[None]:
    """NaN and infinities are results like others, as in torch; a host runs requests like this."""
    with np.errstate(all="ignore"):
        yield
