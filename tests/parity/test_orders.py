"""Results lie in memory as torch's do, whatever order the operands lie in; and so say mirrors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("torch", reason="make parity installs torch")

from tests.parity.orders import differences, in_torch
from tests.parity.orders_unlike import NOT_TRIED, UNLIKE

from gradwire_engine.catalogue import CATALOGUE

HELD = [n for n in sorted(CATALOGUE) if n not in {*UNLIKE, *NOT_TRIED} and not n.endswith("_")]


def _found(name: str) -> list[str]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return differences(name)


@pytest.mark.parametrize("name", HELD)
def test_results_lie_as_torchs(name: str) -> None:
    assert in_torch(name) is not None
    assert not _found(name)


@pytest.mark.parametrize("name", sorted(UNLIKE))
def test_what_is_listed_still_lies_otherwise(name: str) -> None:
    found = _found(name)
    assert found, "it may go from the list"
    assert not [d for d in found if "mirrored" in d]


def test_what_differs_is_known_by_name() -> None:
    assert CATALOGUE.keys() >= {*UNLIKE, *NOT_TRIED}
    assert not set(UNLIKE) & set(NOT_TRIED)
    assert len(HELD) >= 380
