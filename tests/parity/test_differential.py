"""Random programs, a step at a time on torch and here: a fixed tenth of `make parity-full`."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="make parity installs torch")

from tests.parity.differential.campaign import MODES, OPTIONS, Tally, counted, seeds_from
from tests.parity.differential.kinds import KINDS

SEED = 1
EMBEDDED, OVER_HTTP = 300, 30
PARTS = 10


def _part(part: int, whole: int, url: str | None = None) -> Tally:
    seeds = seeds_from(SEED, whole)
    found = counted(seeds[part :: PARTS if url is None else 2], url)
    assert not found.failures, "\n\n".join(found.failures)
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_programs_do_the_same_embedded(part: int) -> None:
    _part(part, EMBEDDED)


@pytest.mark.parametrize("part", range(2))
def test_programs_do_the_same_over_http(part: int, server_url: str) -> None:
    _part(part, OVER_HTTP, server_url)


def test_errors_are_a_tenth_and_every_kind_comes_up() -> None:
    """What programs hold is torch's affair alone: no run of ours is needed to count it."""
    found = counted(seeds_from(SEED, EMBEDDED), None)
    assert found.kinds.keys() == {*KINDS, *MODES, *OPTIONS}
    assert not found.shortcomings(), found.summary()
