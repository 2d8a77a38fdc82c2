"""What is kept for backward can't be written: for every op the same tensors as in torch."""

from __future__ import annotations

import warnings
from itertools import islice

import numpy as np
import pytest

pytest.importorskip("torch", reason="make parity installs torch")

import torch
from tests.parity.opinfo.run import entries
from tests.parity.opinfo.saved import drawn, kept_unlike
from tests.parity.opinfo.saved_unlike import MORE_KEPT_HERE, TORCH_KEEPS_MORE
from tests.parity.opinfo.stand import Unlike

import gradwire

UNLIKE = {*MORE_KEPT_HERE, *TORCH_KEEPS_MORE}
HELD = [n for n, op in entries().items() if op.supports_autograd and n not in UNLIKE]
SAMPLES = 2


def differences(name: str, samples: int = SAMPLES) -> list[str]:
    """The writes that only one side refuses, on the first samples of an entry."""
    gradwire.connect()
    op = entries()[name]
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        for sample in islice(drawn(op), samples):
            try:
                found += kept_unlike(op, sample)
            except Unlike:
                continue
    return found


@pytest.mark.parametrize("name", HELD)
def test_the_same_writes_are_refused(name: str) -> None:
    assert not differences(name)


@pytest.mark.parametrize("name", sorted(UNLIKE))
def test_what_is_listed_still_differs_that_way(name: str) -> None:
    wanted = ": no matter, refused" if name in TORCH_KEEPS_MORE else ": refused, no matter"
    found = (any(wanted in d for d in differences(name, n)) for n in (SAMPLES, 6 * SAMPLES))
    assert any(found), "it may go from the list"


def test_what_differs_is_known_by_name() -> None:
    assert entries().keys() >= UNLIKE
    assert not set(MORE_KEPT_HERE) & set(TORCH_KEEPS_MORE)
    assert len(HELD) >= 250
