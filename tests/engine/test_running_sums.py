"""Running sums of arrays large enough to be shared out, along any axis and in either direction."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from gradwire_engine.kernels import row_blocks
from gradwire_engine.kernels import running_sums as running_sums_module
from gradwire_engine.kernels.row_blocks import SHARED
from gradwire_engine.kernels.running_sums import WIDE, running_sums

SHAPES = [
    (SHARED + 3,),
    (2, SHARED // 2 + 1),
    (SHARED + 1, 1),
    (1, SHARED + 1),
    (20, WIDE),
    (3, 4, WIDE),
]


def along(x: np.ndarray, axis: int, backwards: bool) -> np.ndarray:
    return np.flip(np.cumsum(np.flip(x, axis), axis), axis) if backwards else np.cumsum(x, axis)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128", "int64"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_they_are_numpys(
    shape: tuple[int, ...],
    backwards: bool,
    dtype: str,
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever cores this machine has: on two a sum that goes on from two parts is never seen."""
    for module in (row_blocks, running_sums_module):
        monkeypatch.setattr(module, "threads", lambda: count)
    monkeypatch.setattr(row_blocks, "_pool", cache(row_blocks._pool.__wrapped__))
    x = (np.random.default_rng(0).standard_normal(shape) * 9).astype(dtype)
    for axis in range(x.ndim):
        found = running_sums(np, x, axis, backwards)
        np.testing.assert_allclose(found, along(x, axis, backwards), rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("backwards", [False, True])
def test_what_is_no_number_goes_on_to_the_end(backwards: bool) -> None:
    x = np.ones(SHARED + 5)
    x[7], x[-7] = np.inf, -np.inf
    found = running_sums(np, x, 0, backwards)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(along(x, 0, backwards)))


@pytest.mark.parametrize("shape", [(3,), (3, WIDE)])
def test_a_sum_begins_at_zero(shape: tuple[int, ...]) -> None:
    assert not np.signbit(running_sums(np, np.full(shape, -0.0), 0)).any()
