"""Requests to a server that are interrupted, lost, or never answered: the program goes on."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from tests.clients.proxy import (
    NOTHING,
    PLACES,
    Fault,
    Interrupt,
    answered,
    between,
    every,
    interrupted,
    of_the_proxy,
)
from tests.clients.test_interrupts import Training, adam, drawn, free_for_others
from tests.clients.test_interrupts import interrupted as interrupted_at
from tests.service.conftest import Running, running

import gradwire as torch
from gradwire.session import Session
from gradwire_service.host.limits import Limits

STEPS = 6
TRANSPORTS = pytest.mark.parametrize("transport", ["http", "stream"])
WHERE = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)


class OutOfTime(TimeoutError):
    """What a program's own time limit raises."""


INTERRUPTS = (KeyboardInterrupt, TimeoutError)


class Loop:
    """A training loop in the parts that a notebook's user runs again where they were interrupted.

    A step is `_forward`, which draws random numbers from a seed of its own, and `_look`. between:
    what is done after an interrupt. caught: what counts as one.
    """

    def __init__(
        self,
        between: Callable[[], None] = lambda: None,
        caught: tuple[type[BaseException], ...] = INTERRUPTS,
    ) -> None:
        self._between, self._caught = between, caught
        torch.manual_seed(0)
        nn = torch.nn
        self.model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Tanh(), nn.Linear(8, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.1)
        values = np.random.default_rng(3).normal(size=(16, 5)).astype(np.float32)
        self.x, self.target = torch.tensor(values[:, :4]), torch.tensor(values[:, 4:])
        self.losses: list[tuple[float, float]] = []
        self.interrupts: list[BaseException] = []
        self._loss = self.target

    def run(self) -> list[tuple[float, float]]:
        """All steps, whatever interrupts them; loss and the sum of the parameters after each."""
        for number in range(STEPS):
            self._again(lambda number=number: self._forward(number))
            try:
                self.optimizer.step()
            except self._caught as problem:  # it is under way: the next call goes on with it
                self.interrupts.append(problem)
                self._between()
            self._again(self._look)
        return self.losses

    def _forward(self, number: int) -> None:
        torch.manual_seed(number)
        self.optimizer.zero_grad()
        self._loss = ((self.model(self.x) - self.target) ** 2).mean()
        self._loss.backward()

    def _look(self) -> None:
        total = sum(p.sum() for p in self.model.parameters())
        self.losses.append((self._loss.item(), total.item()))

    def _again(self, part: Callable[[], None]) -> None:
        while True:
            try:
                return part()
            except self._caught as problem:
                self.interrupts.append(problem)
                self._between()


def steps_of(session: Session) -> list[float]:
    """How many steps the server's Adam has done for each parameter."""
    session.flush()
    (found,) = session.transport.optimizers(session.id)
    return [float(state["step"]) for state in found["state"]]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def undisturbed() -> list[tuple[float, float]]:
    """What the loop gives where nothing interrupts it."""
    with torch.connect().session():
        return Loop().run()


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, an alarm an exception of the program's own."""

    def out_of_time(number: int, frame: object) -> None:
        raise OutOfTime

    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGALRM: signal.signal(signal.SIGALRM, out_of_time),
        NOTHING: signal.signal(NOTHING, lambda number, frame: None),
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    torch.connect()


@contextmanager
def session_by(url: str, transport: str, timeout: float = 30.0) -> Iterator[Session]:
    """A session by a URL, begun before anything goes wrong."""
    with torch.connect(url, transport=transport, timeout=timeout).session() as found:
        yield found


@TRANSPORTS
@WHERE
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGALRM], ids=lambda n: n.name)
def test_each_request_interrupted_by_a_signal(
    server: Running,
    transport: str,
    place: Fault,
    number: signal.Signals,
    undisturbed: list[tuple[float, float]],
) -> None:
    with between(server.port) as proxy, session_by(proxy.url, transport) as session:
        loop = Loop()
        proxy.faults = every(3, interrupted(place, Interrupt(number)))
        losses = loop.run()
        proxy.faults = lambda number: None
        assert losses == undisturbed
        assert len(loop.interrupts) == proxy.faulty >= STEPS
        raised = KeyboardInterrupt if number is signal.SIGINT else OutOfTime
        assert {type(one) for one in loop.interrupts} == {raised}
        assert steps_of(session) == [STEPS] * 4


@TRANSPORTS
@WHERE
def test_each_request_runs_out_of_its_time(
    server: Running,
    transport: str,
    place: Fault,
    undisturbed: list[tuple[float, float]],
) -> None:
    with (
        between(server.port) as proxy,
        session_by(proxy.url, transport, timeout=0.2) as session,
    ):
        loop = Loop()
        proxy.faults = every(4, interrupted(place, Interrupt()))
        assert loop.run() == undisturbed
        assert loop.interrupts
        assert {one.code for one in loop.interrupts} <= {"unanswered", "unreachable"}
        proxy.faults = lambda number: None
        assert steps_of(session) == [STEPS] * 4


@TRANSPORTS
def test_every_reply_is_lost_once(
    server: Running, transport: str, undisturbed: list[tuple[float, float]]
) -> None:
    with between(server.port) as proxy:
        proxy.faults = every(2, answered)
        with session_by(proxy.url, transport) as session:
            loop = Loop()
            assert loop.run() == undisturbed
            assert not loop.interrupts
            assert steps_of(session) == [STEPS] * 4
            proxy.faults = lambda number: None


@TRANSPORTS
def test_lost_replies_that_the_server_does_not_keep(
    transport: str, undisturbed: list[tuple[float, float]]
) -> None:
    limits = Limits(idempotency_seconds=1e-6)
    with (
        running(limits) as forgetful,
        between(forgetful.port) as proxy,
        session_by(proxy.url, transport) as session,
    ):
        loop = Loop()
        proxy.faults = every(2, answered)
        assert loop.run() == undisturbed
        proxy.faults = lambda number: None
        assert not loop.interrupts
        assert steps_of(session) == [STEPS] * 4


@TRANSPORTS
@pytest.mark.parametrize("status", [502, 504, 520])
def test_a_proxy_that_got_no_answer_itself(
    server: Running, transport: str, status: int, undisturbed: list[tuple[float, float]]
) -> None:
    with between(server.port) as proxy, session_by(proxy.url, transport) as session:
        loop = Loop(caught=(TimeoutError, ConnectionError))
        proxy.faults = every(3, of_the_proxy(status))
        assert loop.run() == undisturbed
        proxy.faults = lambda number: None
        assert proxy.faulty
        assert {one.code for one in loop.interrupts} <= {"unanswered"}
        assert steps_of(session) == [STEPS] * 4


@TRANSPORTS
def test_an_interrupt_while_a_large_batch_is_sent(server: Running, transport: str) -> None:
    batch = np.arange(4_000_000.0, dtype=np.float32)
    with between(server.port) as proxy, session_by(proxy.url, transport):
        total = torch.zeros(())
        for done in range(1, 4):
            total += torch.from_numpy(batch)[-1]
            proxy.flows.clear()
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(OutOfTime):
                total.item()
            proxy.flows.set()
            assert total.item() == done * batch[-1]


@TRANSPORTS
@pytest.mark.parametrize("raised", INTERRUPTS)
def test_a_step_interrupted_at_any_call(
    server: Running, transport: str, raised: type[BaseException], swallowed: list[str]
) -> None:
    """Embedded that is test_interrupts.py; here those of httpx and websockets are among them."""
    with session_by(server.url, transport) as session:
        whole = Training(adam)
        losses = [whole.step() for _ in range(6)]
        for number in drawn(adam, 150):
            training = Training(adam)
            assert [training.step(), training.step()] == losses[:2]
            kept = interrupted_at(training.step, number, raised)
            found = [training.step(), training.step()]
            assert found in (losses[2:4], losses[3:5]), number
            del kept
            assert training.step() == losses[4 if found == losses[2:4] else 5], number
        assert free_for_others(session)
