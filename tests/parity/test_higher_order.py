"""Random functions and all ways to their derivatives: a fixed tenth of `make parity-full`."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="make parity installs torch")

from tests.parity.higher_order import planned
from tests.parity.higher_order.__main__ import EMBEDDED, OVER_HTTP
from tests.parity.higher_order.campaign import Tally, counted, seeds_from
from tests.parity.higher_order.function import drawn
from tests.parity.higher_order.kinds import KINDS
from tests.parity.higher_order.ways import QUANTITIES

SEED = 1
PARTS = 10
KINDS_OF_PLANS, BY_PLANS = 10, 3
"""What is compiled of a function, and how many of a part are."""


def _same(seeds: range, url: str | None = None) -> Tally:
    found = counted(seeds, url)
    assert not found.failures, "\n\n".join(found.failures)
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_derivatives_are_torchs_embedded(part: int) -> None:
    found = _same(seeds_from(SEED, EMBEDDED // 10)[part::PARTS])
    assert len(found.ways) == sum(len(ways) for _, ways in QUANTITIES.values())


@pytest.mark.parametrize("part", range(PARTS))
def test_planned_is_eager(part: int) -> None:
    """To 1e-12, and the same bits each time, with plans of everything that is compiled."""
    whole = Tally()
    for seed in seeds_from(SEED, EMBEDDED // 10)[part::PARTS][:BY_PLANS]:
        whole.add(planned.one(seed))
    assert not whole.failures, "\n\n".join(whole.failures)
    assert len(whole.ways) == KINDS_OF_PLANS


def test_derivatives_are_torchs_over_http(server_url: str) -> None:
    _same(seeds_from(SEED + 1, OVER_HTTP // 10), server_url)


def test_every_kind_of_step_comes_up_in_a_run() -> None:
    kinds = {step.kind for seed in seeds_from(SEED, EMBEDDED) for step in drawn(seed).steps}
    assert kinds == KINDS.keys()


def test_a_function_is_drawn_the_same_again_and_is_cut_off_where_it_may_be() -> None:
    function = drawn(7)
    assert function == drawn(7)
    assert [len(short.steps) for short in function.shorter()] == [*range(1, len(function.steps))]
