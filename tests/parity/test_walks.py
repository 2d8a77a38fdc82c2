"""Random programs do on gradwire what they do on torch: see walks.py."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from tests.parity.compare import differences
from tests.parity.walks import IN_PLACE, WALKS, Tensors, program, shown, start, step

import gradwire

torch = pytest.importorskip("torch", reason="make parity installs torch")

PROGRAMS = 300


@pytest.mark.parametrize("part", range(10))
def test_random_programs_show_the_same(part: int) -> None:
    for seed in range(part, PROGRAMS, 10):
        with warnings.catch_warnings(), gradwire.connect(None).session():
            warnings.simplefilter("ignore")
            found = _compared(seed)
        assert not found, f"program {seed}:\n" + "\n".join(found)


def _compared(seed: int) -> list[str]:
    """What differs between the two runs of a program; empty if nothing does."""
    theirs, ours = start(torch), start(gradwire)
    for number, move in enumerate(program(np.random.default_rng(seed))):
        expected = step(torch, theirs, move)
        actual = step(gradwire, ours, move)
        found = differences(expected, actual, f"move {number}, {move}")
        if found:
            return found
        if expected[0] == "raised" and move.what in (*IN_PLACE, *WALKS):
            break  # torch may have written, or accumulated, before it raised
    return _results(theirs, ours)


def _results(theirs: Tensors, ours: Tensors) -> list[str]:
    try:
        expected: list[Any] = shown(theirs)
    except RuntimeError:  # torch can't show a view that may not be used any more
        return []
    return differences(expected, shown(ours), "tensor")
