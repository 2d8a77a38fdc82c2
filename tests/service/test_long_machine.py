"""What is known of the machine: rates, and by how much calls of a kind differed from them."""

from __future__ import annotations

import time

import numpy as np
import pytest

from gradwire_engine.long_calls import Work
from gradwire_service.host.long_calls.machine import Machine

HEAVY = 10**12


def work(
    name: str = "svd", dtype: str = "float64", flops: int = HEAVY, nbytes: int = 0, slow: float = 1
) -> Work:
    return Work(name, dtype, (1, 1), flops, nbytes, slow)


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_a_forecast_is_of_the_size_of_what_a_product_takes(machine: Machine) -> None:
    a = np.ones((1024, 1024))
    foreseen = machine.seconds(work("matmul", flops=2 * 1024**3, nbytes=3 * a.nbytes))
    took = []
    for _ in range(9):
        began = time.perf_counter()
        np.matmul(a, a)
        took.append(time.perf_counter() - began)
    assert min(took) / 30 < foreseen < max(took) * 30


def test_a_forecast_grows_with_operations_bytes_and_slowness(machine: Machine) -> None:
    once = machine.seconds(work())
    assert machine.seconds(work(flops=2 * HEAVY)) == pytest.approx(2 * once)
    assert machine.seconds(work(slow=3)) == pytest.approx(3 * once)
    more = machine.seconds(work(nbytes=10**9)) - once
    assert more > 0
    assert machine.seconds(work(nbytes=2 * 10**9)) - once == pytest.approx(2 * more)


def test_what_was_shorter_than_foreseen_is_believed_and_what_was_longer_by_half(
    machine: Machine,
) -> None:
    plain = machine.seconds(work())
    assert not machine.knows(work())
    machine.learn(work(), plain * 16)
    assert machine.knows(work())
    assert machine.seconds(work()) == pytest.approx(plain * 4)
    machine.learn(work(), plain / 8)
    assert machine.seconds(work()) == pytest.approx(plain / 8)
    machine.learn(work(), plain * 8)
    assert machine.seconds(work()) == pytest.approx(plain)


def test_what_was_cut_off_takes_longer_than_that(machine: Machine) -> None:
    plain = machine.seconds(work())
    machine.learn(work(), plain * 5, more=True)
    assert machine.seconds(work()) == pytest.approx(plain * 5)
    machine.learn(work(), plain * 2, more=True)
    assert machine.seconds(work()) == pytest.approx(plain * 5)


def test_other_functions_dtypes_and_sizes_far_off_are_judged_by_their_rates(
    machine: Machine,
) -> None:
    others = [
        work("eig"),
        work(dtype="float32"),
        work(flops=HEAVY * 8**4),
        work(flops=HEAVY // 8**4),
    ]
    before = [machine.seconds(other) for other in others]
    machine.learn(work(), machine.seconds(work()) / 100)
    assert [machine.seconds(other) for other in others] == before
    assert not any(map(machine.knows, others))
    near = work(flops=HEAVY * 8)
    assert machine.knows(near)
    assert machine.seconds(near) == pytest.approx(8 * machine.seconds(work()))


def test_short_calls_tell_nothing(machine: Machine) -> None:
    machine.learn(work(flops=10**6), 1000.0)
    assert not machine.knows(work(flops=10**6))
