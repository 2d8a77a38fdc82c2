"""Convolution in blocks, whatever their size, and with the memory that it says it takes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.kernels import correlate
from gradwire_engine.kernels.correlate import Sliding
from gradwire_engine.kernels.windows import counts

SHAPES = [
    ((3, 4, 9, 7), (6, 2, 3, 2), Sliding((1, 1), (1, 0), (1, 2), 2)),
    ((2, 3, 8, 8), (4, 3, 3, 3), Sliding((2, 3), (1, 2), (2, 1), 1)),
    ((2, 4, 7, 6), (8, 1, 3, 2), Sliding((1, 2), (2, 1), (1, 1), 4)),
    ((3, 4, 7, 6), (4, 1, 3, 2), Sliding((1, 2), (2, 1), (1, 2), 4)),
    ((2, 1, 5, 4, 6), (2, 1, 2, 3, 2), Sliding((2, 1, 1), (1, 1, 0), (1, 1, 2), 1)),
]


@pytest.fixture(params=[64, 1 << 10, 1 << 12])
def limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(correlate, "LIMIT", request.param)
    value: int = request.param
    return value


def three(x_shape: tuple[int, ...], w_shape: tuple[int, ...], how: Sliding) -> list[np.ndarray]:
    """Results, images and weights, each computed of the two others."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(x_shape), rng.standard_normal(w_shape)
    found = counts(x_shape[2:], w_shape[2:], *how[:3])
    y = rng.standard_normal((x_shape[0], w_shape[0], *found))
    return [
        correlate.results(np, x, w, None, found, how),
        correlate.images(np, y, w, None, x_shape[2:], how),
        correlate.weights(np, x, y, w_shape[2:], how),
    ]


@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_blocks_of_any_size_give_the_same(
    case: tuple[tuple[int, ...], tuple[int, ...], Sliding], limit: int
) -> None:
    small = three(*case)
    correlate.LIMIT = 1 << 30
    for a, b in zip(small, three(*case), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_both_ways_back_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    case = SHAPES[0]
    turned = three(*case)
    monkeypatch.setattr(correlate, "_turns", lambda *given: False)
    for a, b in zip(turned, three(*case), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_padding_beyond_all_measure_is_refused() -> None:
    x, w = np.zeros((1, 1, 2, 2), np.float32), np.zeros((1, 1, 1, 1), np.float32)
    far = (20_000, 20_000)
    with pytest.raises(GradwireError) as raised:
        resolve("conv2d")(x, w, padding=far, stride=far)
    assert raised.value.code == "memory_limit"


def test_windows_take_little_memory_beside_the_result() -> None:
    x, w = np.zeros((2, 16, 64, 64), np.float32), np.zeros((4, 16, 5, 5), np.float32)
    how = Sliding((1, 1), (2, 2), (1, 1), 1)
    tracemalloc.start()
    try:
        out = correlate.results(np, x, w, None, (64, 64), how)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    windows = 2 * 16 * 25 * 64 * 64 * 4
    assert peak < out.nbytes + x.nbytes + 3 * correlate.LIMIT < windows
