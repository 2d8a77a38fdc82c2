"""Random programs, a step at a time on torch and here: a fixed tenth of `make parity-full`."""

from __future__ import annotations

from functools import cache

import pytest

pytest.importorskip("torch", reason="make parity installs torch")

from tests.parity.differential.campaign import MODES, OPTIONS, Tally, counted, seeds_from
from tests.parity.differential.kinds import KINDS

SEED = 1
EMBEDDED, OVER_HTTP = 300, 30
PARTS = 10


@cache
def _embedded(part: int) -> Tally:
    """A part's tally: who counts all of them runs those again only that another process ran."""
    return counted(seeds_from(SEED, EMBEDDED)[part::PARTS])


def _holds(found: Tally) -> None:
    assert not found.failures, "\n\n".join(found.failures)


@pytest.mark.parametrize("part", range(PARTS))
def test_programs_do_the_same_embedded(part: int) -> None:
    _holds(_embedded(part))


@pytest.mark.parametrize("part", range(2))
def test_programs_do_the_same_over_http(part: int, server_url: str) -> None:
    _holds(counted(seeds_from(SEED, OVER_HTTP)[part::2], server_url))


def test_errors_are_a_tenth_and_every_kind_comes_up() -> None:
    """What programs hold is torch's affair alone."""
    found = Tally()
    for part in range(PARTS):
        found.add(_embedded(part))
    assert found.kinds.keys() == {*KINDS, *MODES, *OPTIONS}
    assert not found.shortcomings(), found.summary()
