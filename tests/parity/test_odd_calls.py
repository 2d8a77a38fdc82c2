"""Calls that torch's table has no samples of, through the SDK: results, warnings and refusals."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwire

SIZES: tuple[dict[str, Any], ...] = (
    {"size": (13, 17)},
    {"size": (4, 5)},
    {"size": (8, 20)},
    {"scale_factor": 2.3},
    {"scale_factor": (0.6, 1.4)},
    {"scale_factor": (1.7, 0.8), "recompute_scale_factor": True},
)


@pytest.mark.parametrize("channels", [1, 4, 6])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_images_of_bytes_are_rounded_as_torch_rounds_them(mode: str, channels: int) -> None:
    image = np.random.default_rng(channels).integers(0, 256, (2, channels, 8, 11)).tolist()
    for size, corners, smooth in itertools.product(SIZES, (False, True), (False, True)):
        options = size | {"mode": mode, "align_corners": corners, "antialias": smooth}
        found, wanted = (
            m.nn.functional.interpolate(m.tensor(image, dtype=m.uint8), **options).tolist()
            for m in (gradwire, torch)
        )
        assert found == wanted, options


def test_a_narrow_result_of_a_long_axis_of_bytes() -> None:
    image = np.random.default_rng(0).integers(0, 256, (1, 1, 2, 9000)).tolist()
    options = {"size": (2, 2), "mode": "bilinear", "antialias": True}
    found, wanted = (
        m.nn.functional.interpolate(m.tensor(image, dtype=m.uint8), **options).tolist()
        for m in (gradwire, torch)
    )
    assert found == wanted


NAMES = ("softmax", "log_softmax", "softmin")
SHAPES = ((), (3,), (2, 3), (2, 3, 4), (2, 3, 2, 2))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", SHAPES)
def test_an_axis_that_is_not_named_is_guessed_with_a_warning(
    name: str, shape: tuple[int, ...]
) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    said, found = [], []
    for m in (gradwire, torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = getattr(m.nn.functional, name)(m.tensor(x, dtype=m.float64))
        found.append(result.tolist())
        said.append([(str(w.message), w.category) for w in caught])
    assert len(said[0]) == 1
    assert said[0] == said[1]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_place_of_the_stack_level_is_taken(name: str) -> None:
    for m in (gradwire, torch):
        of = getattr(m.nn.functional, name)
        x = m.tensor([[1.0, 2.0], [4.0, 3.0]])
        assert of(x, 1, 5, m.float64).dtype == m.float64
        assert of(x, 1, 5).tolist() == of(x, dim=1, _stacklevel=2).tolist()


def _bags(offsets: list[int], last: bool) -> Callable[[Any], Any]:
    def run(m: Any) -> Any:
        table = m.tensor([[1.0], [2.0], [3.0]])
        at = m.tensor(offsets, dtype=m.int64)
        places = m.tensor([0, 1, 2, 1])
        return m.nn.functional.embedding_bag(
            places, table, at, mode="sum", include_last_offset=last
        )

    return run


REFUSED: dict[str, Callable[[Any], Any]] = {
    "norm over no axis": lambda m: m.linalg.norm(m.ones(2, 2), dim=()),
    "norm over three axes": lambda m: m.linalg.norm(m.ones(2, 2, 2), dim=(0, 1, 2)),
    "exponentials over no axis": lambda m: m.logsumexp(m.ones(2, 2), ()),
    "an axis of a scalar, to take along": lambda m: m.take_along_dim(m.ones(()), m.tensor(0), 0),
    "an axis of a scalar, to repeat": lambda m: m.ones(()).repeat_interleave(2, 0),
    "an axis of a scalar, to repeat as often as said": lambda m: m.ones(()).repeat_interleave(
        m.tensor([2]), 0
    ),
    "a place from the end": lambda m: m.take_along_dim(m.ones(2, 2), m.tensor([-1])),
    "no last offset": _bags([], True),
    "offsets that decrease": _bags([0, 3, 2], False),
    "a negative offset": _bags([0, -1, 2], False),
}


def _class_of(called: str) -> type[Exception]:
    """What both libraries raise."""
    return IndexError if called.startswith("an axis of a scalar") else RuntimeError


@pytest.mark.parametrize("called", [key for key in REFUSED if key != "a negative offset"])
def test_torch_refuses_it_too(called: str) -> None:
    """On two threads: on one it does not look whether offsets of bags decrease."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(_class_of(called)):
            REFUSED[called](torch)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("called", REFUSED)
def test_it_is_refused(called: str) -> None:
    """A negative offset ends the process in torch, so that is not tried there."""
    with pytest.raises(_class_of(called), match="hint"):
        REFUSED[called](gradwire)


@pytest.mark.parametrize("at", [None, [0.0, 1.0, 3.0]])
def test_integrals_of_whole_numbers_are_floats(at: list[float] | None) -> None:
    for name in ("trapezoid", "cumulative_trapezoid"):
        given = [
            (m, [m.tensor([1, 2, 4])] + ([] if at is None else [m.tensor(at).to(m.int64)]))
            for m in (gradwire, torch)
        ]
        ours, theirs = (getattr(m, name)(*operands) for m, operands in given)
        assert (str(ours.dtype), ours.tolist()) == (str(theirs.dtype), theirs.tolist())
