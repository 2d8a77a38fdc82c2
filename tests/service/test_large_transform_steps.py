"""Transforms as steps on tensors of some size: by plans too, in memory that is counted."""

from __future__ import annotations

import numpy as np
import orjson
import pytest
from tests.service.test_posted import Place, posted

from gradwire_engine.errors import GradwireError
from gradwire_service.host.cost import ALLOWANCE
from gradwire_service.host.deadline import Deadline
from gradwire_service.host.memory import TooMuchHere
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.requests import Program

SIDE = 300
BYTES = SIDE * SIDE * 4
SLOW = 3
"""Posts that go the long way: the first, and two for which what is known of it is no plan yet."""
NAMES = ["g", "h", "y"]
SOURCES = {
    "elementwise": "a = torch.tanh(x) * z\ny = (a * a).mean()",
    "a product": "y = torch.tanh(x @ z).sum()",
    "one gradient is a number": "y = (x * 3 + z * z).sum()",
    "the gradients are the same": "y = ((x + z) * (x + z)).sum()",
}


def known(source: str, side: int = SIDE) -> tuple[Place, bytes]:
    """A session with x and z, squares, and a step that names both gradients and the value."""
    made = Place(posted)
    model = read(Program, {"inputs": ["x", "z"], "source": source, "outputs": ["y"]})
    key = made.host.programs.put(model, {})[0].program.id
    fill(made, 0, side)
    step = {
        "transform": "value_and_grad", "call": key, "args": ["x", "z"], "out": ["g", "h"],
        "values": ["y"],
    }  # fmt: skip
    return made, orjson.dumps({"steps": [step], "return": ["y"]})


def fill(made: Place, seed: int, side: int = SIDE) -> None:
    """Other numbers for x and z."""
    random = np.random.default_rng(seed)
    data = {name: random.standard_normal((side, side)).round(3).tolist() for name in "xz"}
    steps = [{"tensor": n, "value": d, "requires_grad": True} for n, d in data.items()]
    assert isinstance(made.post(orjson.dumps({"steps": steps, "return": []})), bytes)


def arrays(made: Place) -> list[np.ndarray]:
    """What the session has by the names of results."""
    return [made.session.tensors[name].array for name in NAMES]


@pytest.mark.parametrize("source", SOURCES)
def test_large_ones_are_answered_by_a_plan(source: str) -> None:
    made, sent = known(SOURCES[source])
    plain = orjson.loads(sent)
    plain["steps"][0]["grad_mode"] = "enable_grad"  # said, it is no step like those before
    for seed in range(5):
        fill(made, seed)
        made.post(sent)
        found = [a.copy() for a in arrays(made)]
        made.post(orjson.dumps(plain))
        for ours, wanted in zip(found, arrays(made), strict=True):
            assert ours.dtype == wanted.dtype
            np.testing.assert_allclose(ours, wanted, rtol=2e-5, atol=2e-5)
    assert made.host.once.plans.made == 1
    assert made.host.once.plans.answered == 5 - SLOW


@pytest.mark.parametrize("source", SOURCES)
def test_what_a_plan_gave_shares_memory_with_nothing(source: str) -> None:
    made, sent = known(SOURCES[source])
    for _ in range(4):
        made.post(sent)
    wanted = [a.copy() for a in arrays(made)]
    for name in NAMES:
        made.post(orjson.dumps({"steps": [{"op": "fill_", "args": [name, 7.0]}]}))
        for other, found, before in zip(NAMES, arrays(made), wanted, strict=True):
            np.testing.assert_array_equal(found, 7.0 if other == name else before)
        made.post(sent)
        for found, before in zip(arrays(made), wanted, strict=True):
            np.testing.assert_array_equal(found, before)
    assert made.host.once.plans.answered == 4 - SLOW + len(NAMES)


@pytest.mark.parametrize("source", SOURCES)
def test_they_are_counted_as_what_they_hold(source: str) -> None:
    made, sent = known(SOURCES[source])
    for _ in range(5):
        made.post(sent)
        bound = made.session.meter.bound
        assert made.session.meter.count().values == 4 * BYTES + 4
        assert bound == made.session.meter.bound
    assert made.host.once.plans.answered == 5 - SLOW
    assert made.session.meter.asked >= 2 * BYTES + 4


FEW_BYTES = {
    "reads much": ("y = x.sum() * z.sum()", SIDE),
    "does much": ("a = x.reshape(-1, 1) * x.reshape(-1)\ny = a.exp().sum() * z.sum()", 34),
}


@pytest.mark.parametrize(("source", "side"), FEW_BYTES.values(), ids=FEW_BYTES)
def test_what_takes_long_is_not_run_on_the_event_loop(source: str, side: int) -> None:
    """It asks for few bytes, but takes its time."""
    made, sent = known(source, side)
    scalar = sent.replace(b'"transform"', b'"wrt":[],"transform"').replace(b'["g","h"]', b"[]")
    for _ in range(4):
        made.post(scalar)
    plans = made.host.once.plans
    assert plans.answered == 4 - SLOW
    request = made.way(made.seen, scalar)
    with pytest.raises(TooMuchHere):
        made.host.run(made.session, request, allowance=ALLOWANCE)
    assert plans.answered == 4 - SLOW
    made.post(scalar)
    assert plans.answered == 5 - SLOW
    made.host.run(made.session, request, allowance=2 * ALLOWANCE)  # it took little before
    assert plans.answered == 6 - SLOW


def test_without_room_for_a_plan_the_session_is_as_it_was() -> None:
    made, sent = known(SOURCES["a product"])
    for _ in range(4):
        made.post(sent)
    before = [a.copy() for a in arrays(made)]
    meter = made.session.meter
    limit = meter.limit
    meter.limit = meter.bound + BYTES
    said = made.post(sent)
    assert isinstance(said, tuple), said
    assert said[0] == "memory_limit"
    for found, wanted in zip(arrays(made), before, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert meter.count().values == 4 * BYTES + 4
    meter.limit = limit
    answered = made.host.once.plans.answered
    made.post(sent)
    assert made.host.once.plans.answered == answered + 1


class Patience(Deadline):
    """Passes once it was looked at more often than so many times."""

    def __init__(self, looks: float = float("inf")) -> None:
        self.looks, self.seen = looks, 0
        super().__init__(1.0)

    @property
    def at(self) -> float:  # type: ignore[override]
        """When it passes."""
        self.seen += 1
        return float("inf") if self.seen <= self.looks else 0.0

    @at.setter
    def at(self, when: float) -> None:
        """When it passes isn't a matter of time."""


def test_one_that_takes_too_long_ends_between_its_steps() -> None:
    made, sent = known(SOURCES["a product"])
    for _ in range(4):
        made.post(sent)
    before = [a.copy() for a in arrays(made)]
    request, whole = made.way(made.seen, sent), Patience()
    made.host.run(made.session, request, until=whole)
    assert whole.seen >= len(made.host.once.plans.all()[0].plan.units)
    for looks in range(whole.seen):
        with pytest.raises(GradwireError, match="computed longer") as caught:
            made.host.run(made.session, request, until=Patience(looks))
        assert caught.value.code == "deadline_exceeded"
        for found, wanted in zip(arrays(made), before, strict=True):
            np.testing.assert_array_equal(found, wanted)
        assert made.session.meter.count().values == 4 * BYTES + 4
