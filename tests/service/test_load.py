"""A few seconds of `make load`: all of its lines but those about time."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from tests.service.load import held
from tests.service.load.flood import flood
from tests.service.load.lines import Line
from tests.service.load.questions import near
from tests.service.load.server import cores, on_core


def nothing(*_: object) -> None:
    """No bar is drawn."""


def assert_good(lines: Iterable[Line]) -> None:
    failed = [line for line in lines if not line.good and not line.timed]
    assert not failed, failed


@pytest.mark.slow
def test_more_than_can_be_served_is_answered_rightly_or_refused() -> None:
    assert_good(flood(3, 6, nothing, tenant_requests=48))


@pytest.mark.slow
def test_idle_sessions_take_little() -> None:
    assert_good(held.idle(400, nothing))


@pytest.mark.slow
def test_nothing_stays_of_sessions_that_were() -> None:
    assert_good(held.cycles(1000, 250, nothing))


def test_whoever_was_on_one_core_has_all_of_them_again() -> None:
    before = cores()
    with on_core(1):
        assert cores() is None
    assert cores() == before


def test_what_is_near_is_told_from_what_is_not() -> None:
    same = near(np.array([1.0, 2.0]))
    assert same([1.0, 2.00001])
    assert not same([1.0, 2.001])
    assert not same([1.0])
    assert not same([1.0, float("nan")])
    assert near(3.0)(3.00001)
    assert not near(3.0)("NaN")
