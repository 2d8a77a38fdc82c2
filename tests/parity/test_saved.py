"""What is kept for backward can't be written, and is freed by a walk: for every op as in torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="make parity installs torch")

import torch
from tests.parity.opinfo.run import entries
from tests.parity.opinfo.saved import Found, drawn, freed_unlike, kept_unlike
from tests.parity.opinfo.saved_unlike import FREED_UNLIKE, MORE_KEPT_HERE, TORCH_KEEPS_MORE
from tests.parity.opinfo.stand import Unlike

import gradwire

UNLIKE = {*MORE_KEPT_HERE, *TORCH_KEEPS_MORE}
HELD = [n for n, op in entries().items() if op.supports_autograd and n not in UNLIKE]
SAMPLES = 2


def differences(
    name: str, samples: int = SAMPLES, unlike: Callable[[Any, Any], Found] = kept_unlike
) -> list[str]:
    """The writes, or second walks, that one side refuses, on the first samples of an entry."""
    gradwire.connect()
    op = entries()[name]
    found: list[str] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        for sample in islice(drawn(op), samples):
            try:
                found += unlike(op, sample)
            except Unlike:
                continue
    return found


@pytest.mark.parametrize("name", HELD)
def test_the_same_writes_are_refused(name: str) -> None:
    assert not differences(name)


@pytest.mark.parametrize("name", [n for n in HELD if n not in FREED_UNLIKE])
def test_the_same_second_walks_are_refused(name: str) -> None:
    assert not differences(name, 1, freed_unlike)


@pytest.mark.parametrize("name", FREED_UNLIKE)
def test_what_is_listed_is_still_freed_otherwise(name: str) -> None:
    assert differences(name, SAMPLES, freed_unlike), "it may go from the list"


@pytest.mark.parametrize("name", sorted(UNLIKE))
def test_what_is_listed_still_differs_that_way(name: str) -> None:
    wanted = ": no matter, refused" if name in TORCH_KEEPS_MORE else ": refused, no matter"
    found = (any(wanted in d for d in differences(name, n)) for n in (SAMPLES, 6 * SAMPLES))
    assert any(found), "it may go from the list"


def test_what_differs_is_known_by_name() -> None:
    assert entries().keys() >= UNLIKE
    assert not set(MORE_KEPT_HERE) & set(TORCH_KEEPS_MORE)
    assert len(HELD) >= 250
