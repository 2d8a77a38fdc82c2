"""The stand-in for CuPy is itself right: it computes what NumPy does and refuses what CuPy does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.special
from tests.strict import Array, from_numpy, special, to_numpy, xp
from tests.strict.catalogue import COMPUTED, FOURIER, FUNCTIONS, LINEAR, SPECIAL
from tests.strict.loops import Loop, table
from tests.strict.samples import Sample, arrays
from tests.strict.samples_of_math import (
    FOURIER_SAMPLES,
    FUNCTION_SAMPLES,
    LINEAR_SAMPLES,
    SPECIAL_SAMPLES,
)

HALF = np.dtype(ml_dtypes.bfloat16)
HOST = SimpleNamespace(**arrays())
DEVICE = SimpleNamespace(**{name: from_numpy(a) for name, a in arrays().items()})


def assert_same(found: Any, wanted: Any) -> None:
    """Equal bit for bit, dtype included; and on the device where NumPy has an array or scalar."""
    if isinstance(wanted, tuple | list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
    elif isinstance(wanted, np.ndarray | np.generic):
        assert isinstance(found, Array)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(to_numpy(found), wanted, strict=True)
    elif isinstance(found, Array):  # NumPy answers with a Python bool, CuPy with an array
        assert found.ndim == 0
        assert found.item() == wanted
    else:
        assert found == wanted


def cases(samples: dict[str, Sample]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", samples)


@cases(FUNCTION_SAMPLES)
def test_a_function_gives_what_numpy_gives(name: str) -> None:
    assert_same(FUNCTION_SAMPLES[name](xp, DEVICE), FUNCTION_SAMPLES[name](np, HOST))


@cases(LINEAR_SAMPLES)
def test_linear_algebra_gives_what_numpy_gives(name: str) -> None:
    assert_same(LINEAR_SAMPLES[name](xp.linalg, DEVICE), LINEAR_SAMPLES[name](np.linalg, HOST))


@cases(FOURIER_SAMPLES)
def test_a_transform_gives_what_numpy_gives(name: str) -> None:
    assert_same(FOURIER_SAMPLES[name](xp.fft, DEVICE), FOURIER_SAMPLES[name](np.fft, HOST))


@cases(SPECIAL_SAMPLES)
def test_a_special_function_gives_what_scipy_gives(name: str) -> None:
    assert_same(SPECIAL_SAMPLES[name](special, DEVICE), SPECIAL_SAMPLES[name](scipy.special, HOST))


def test_every_function_has_a_sample() -> None:
    assert set(FUNCTIONS) == set(FUNCTION_SAMPLES)
    assert set(LINEAR) == set(LINEAR_SAMPLES)
    assert set(FOURIER) == set(FOURIER_SAMPLES)
    assert set(SPECIAL) - set(table("special.txt")) == set(SPECIAL_SAMPLES)


def loops() -> list[Any]:
    return [
        pytest.param(library, name, loop, id=f"{name}-{'-'.join(map(str, loop.takes))}")
        for library, file in (("xp", "ufuncs.txt"), ("special", "special.txt"))
        for name, found in table(file).items()
        for loop in found
        if loop.gives
    ]


def values(dtype: np.dtype[Any], salt: int) -> np.ndarray[Any, Any]:
    """Values in (0, 1), or small positive integers: inside every function's domain but a few."""
    random = np.random.default_rng(salt)
    if dtype.kind in "biu":
        return random.integers(0, 2 if dtype.kind == "b" else 4, (2, 3)).astype(dtype)
    return random.uniform(0.1, 0.9, (2, 3)).astype(dtype)


def reference(library: str, name: str, loop: Loop, host: list[Any]) -> Any:
    """NumPy's or SciPy's result, bfloat16 by way of float32."""
    wide = [a.astype(np.float32) if a.dtype == HALF else a for a in host]
    compute = COMPUTED.get(name) or getattr({"xp": np, "special": scipy.special}[library], name)
    if name in ("round", "around"):
        return np.round(wide[0], 0)
    with np.errstate(all="ignore"):
        return compute(*wide)


@pytest.mark.parametrize(("library", "name", "loop"), loops())
def test_a_loop_gives_what_numpy_gives(library: str, name: str, loop: Loop) -> None:
    """Where NumPy has no such loop (CuPy's table names some that CUDA has not) neither has."""
    host = [values(t, salt) for salt, t in enumerate(loop.takes)]
    device: list[Any] = [from_numpy(a) for a in host]
    function = getattr({"xp": xp, "special": special}[library], name)
    if name in ("round", "around"):
        device = device[:1]
    try:
        wanted = reference(library, name, loop, host)
    except TypeError:
        with pytest.raises(TypeError):
            function(*device)
        return
    found = function(*device)
    for one, other, dtype in zip(
        found if isinstance(found, tuple) else (found,),
        wanted if isinstance(wanted, tuple) else (wanted,),
        loop.gives,
        strict=True,
    ):
        assert one.dtype == dtype
        wide = np.float32 if dtype == HALF else dtype
        np.testing.assert_array_equal(
            to_numpy(one).astype(wide), other.astype(dtype).astype(wide), strict=True
        )
