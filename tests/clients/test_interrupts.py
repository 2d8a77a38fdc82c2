"""An interrupt raised at each call of a training step in turn: the next step is right."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from types import FrameType
from typing import Any

import numpy as np
import pytest

import gradwire as torch
from gradwire.session import Session
from gradwire_engine.locks import depth
from gradwire_engine.mode import local

MOST = 2000
"""Interrupts of one kind of step; drawn evenly where its calls are more."""
FEW = 100


class Training:
    """One kind of training: `step` gives a loss, the same in each run."""

    def __init__(self, build: Callable[[], Callable[[], Any]]) -> None:
        torch.manual_seed(0)
        self._step = build()

    def step(self) -> float:
        return float(self._step())


def _x() -> tuple[torch.Tensor, torch.Tensor]:
    values = np.random.default_rng(3).normal(size=(16, 5)).astype(np.float32)
    return torch.tensor(values[:, :4]), torch.tensor(values[:, 4:])


def adam() -> Callable[[], Any]:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    return _steps(model, optimizer)


def normalized() -> Callable[[], Any]:
    layers = torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 1)
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return _steps(model, optimizer)


def _steps(
    model: torch.nn.Module,
    optimizer: Any,
    block: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Callable[[], Any]:
    x, target = _x()

    def step() -> Any:
        with block():
            optimizer.zero_grad()
            loss = ((model(x) - target) ** 2).mean()
            loss.backward()
            optimizer.step()
        return loss.item()

    return step


def transaction() -> Callable[[], Any]:
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    return _steps(model, optimizer, model.weight.session.transaction)


def second_order() -> Callable[[], Any]:
    x, target = _x()
    w = torch.zeros(4, 1, requires_grad=True)

    def step() -> Any:
        loss = ((x @ w - target) ** 2).mean()
        (g,) = torch.autograd.grad(loss, w, create_graph=True)
        (h,) = torch.autograd.grad((g**2).sum(), w)
        w.detach().sub_(h * 0.1)
        return loss.item()

    return step


def hooked() -> Callable[[], Any]:
    model = torch.nn.Linear(4, 1)
    model.weight.register_hook(lambda g: g * 0.5)
    model.register_forward_hook(lambda module, args, out: out * 2)
    return _steps(model, torch.optim.SGD(model.parameters(), lr=0.1))


def compiled() -> Callable[[], Any]:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return _steps(torch.compile(model), optimizer)


def transformed() -> Callable[[], Any]:
    x, target = _x()
    w = torch.zeros(4, 1)
    slope = torch.func.grad_and_value(lambda w: ((x @ w - target) ** 2).mean())

    def step() -> Any:
        g, loss = slope(w)
        w.sub_(g * 0.1)
        return loss.item()

    return step


def accumulated() -> Callable[[], Any]:
    x, target = _x()
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1000)

    def step() -> Any:
        optimizer.zero_grad(set_to_none=False)
        for part in (slice(8), slice(8, 16)):
            loss = ((model(x[part]) - target[part]) ** 2).mean()
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        return loss.item()

    return step


def undone() -> Callable[[], Any]:
    """A step after a transaction that is undone."""
    model = torch.nn.Linear(4, 1)
    session = model.weight.session
    step = _steps(model, torch.optim.SGD(model.parameters(), lr=0.1))

    def after_another() -> Any:
        with suppress(KeyError), session.transaction():
            model(torch.ones(1, 4)).sum().backward()
            model.weight.data.zero_()
            raise KeyError
        return step()

    return after_another


class _Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


def custom() -> Callable[[], Any]:
    class Cubed(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return _Cube.apply(super().forward(x) * 0.3)

    model = Cubed(4, 1)
    return _steps(model, torch.optim.SGD(model.parameters(), lr=0.01))


KINDS = [
    adam, normalized, transaction, second_order, hooked, compiled, transformed, accumulated,
    undone, custom,
]  # fmt: skip


WATCHED: dict[str, Callable[[Any], None]] = {"call": sys.settrace, "c_return": sys.setprofile}
"""Python looks for signals as a function of its own is called, and as one of C has returned."""


def events_of(step: Callable[[], Any], event: str = "call", name: str = "") -> int:
    """How many events of this kind a step has. name: of functions that count, if not all do."""
    count = 0

    def counted(frame: FrameType, happened: str, arg: object) -> None:
        nonlocal count
        count += happened == event and name in ("", frame.f_code.co_name)

    WATCHED[event](counted)
    try:
        step()
    finally:
        WATCHED[event](None)
    return count


def interrupted(
    step: Callable[[], Any],
    number: int,
    raised: type[BaseException],
    event: str = "call",
    name: str = "",
) -> BaseException | None:
    """Do a step, interrupted at its event of this number; what came through of that.

    name: of the functions whose events count, if not all do.
    """
    count = 0

    def interrupt(frame: FrameType, happened: str, arg: object) -> None:
        nonlocal count
        count += happened == event and name in ("", frame.f_code.co_name)
        if count == number:
            WATCHED[event](None)
            raise raised

    WATCHED[event](interrupt)
    try:
        step()
    except raised as problem:
        return problem
    finally:
        WATCHED[event](None)
    return None


@pytest.fixture
def session() -> Iterator[Session]:
    with torch.connect().session() as found:
        yield found


def surroundings() -> tuple[Any, ...]:
    """What an interrupt must leave as it was."""
    state = local.state
    modes = (
        state.grad, state.inference, state.journal, state.meter, state.device, state.anomaly,
        state.generator,
    )  # fmt: skip
    return (gc.isenabled(), modes, np.geterr(), np.getbufsize(), torch.get_default_dtype())


def free_for_others(session: Session) -> bool:
    """Whether another thread can use the session."""
    found: list[float] = []

    def use() -> None:
        with session.here():
            found.append((torch.ones(2) * 2).sum().item())

    other = threading.Thread(target=use, daemon=True)
    other.start()
    other.join(timeout=10)
    return found == [4.0]


def drawn(kind: Callable[[], Callable[[], Any]], most: int, event: str = "call") -> list[int]:
    """The numbers of events at which a step is interrupted: all, or as many, drawn evenly."""
    for _ in range(3):  # what the first trainings plan, the others have
        training = Training(kind)
        training.step()
        training.step()
        calls = events_of(training.step, event)
    if calls <= most:
        return list(range(1, calls + 1))
    return sorted({int(number) for number in np.linspace(1, calls, most)})


def same(found: list[float], wanted: list[float]) -> bool:
    """Whether losses agree but for the last bit, by which a plan and its ops one by one may differ.

    Those of one step and the next differ by percents.
    """
    return bool(np.allclose(found, wanted, rtol=1e-6, atol=0))


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind is not transformed], ids=lambda kind: kind.__name__
)
def test_no_interrupt_is_swallowed(kind: Callable[[], Callable[[], Any]], session: Session) -> None:
    """Python swallows one that comes in `__del__`, so a step calls none.

    `transformed` is left out: each trace has one, by which it lets its placeholders go.
    """
    training = Training(kind)
    training.step()
    training.step()
    assert events_of(training.step, name="__del__") == 0


@pytest.mark.parametrize("event", WATCHED)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_next_step_is_right(
    kind: Callable[[], Callable[[], Any]], event: str, session: Session, swallowed: list[str]
) -> None:
    whole = Training(kind)
    losses = [whole.step() for _ in range(5)]
    held = session.info()["tensors"]
    del whole
    numbers = drawn(kind, MOST if kind is adam and event == "call" else FEW, event)
    before, came = surroundings(), 0
    for number in numbers:
        training = Training(kind)
        assert same([training.step(), training.step()], losses[:2])
        came += interrupted(training.step, number, KeyboardInterrupt, event) is not None
        assert surroundings() == before, number
        after = [training.step(), training.step()]
        assert same(after, losses[2:4]) or same(after, losses[3:5]), (number, after, losses)
        assert depth(session._lock) == 0, number
        del training
    assert came > len(numbers) * 0.8  # Python swallows those that come in `__del__`
    assert free_for_others(session)
    gc.collect()  # Python swallows interrupts in `__del__` of what would have undone a circle
    session.flush()
    assert session.info()["tensors"] <= held


@pytest.mark.parametrize("raised", [KeyboardInterrupt, TimeoutError])
@pytest.mark.parametrize("kind", [adam, transaction, custom], ids=lambda kind: kind.__name__)
def test_whoever_keeps_the_exception(
    kind: Callable[[], Callable[[], Any]],
    raised: type[BaseException],
    session: Session,
    swallowed: list[str],
) -> None:
    """As a notebook does, with all that the frames hold; TimeoutError comes by a signal's handler.

    Where the host meets an exception first it may be told as the op's own.
    """
    whole = Training(kind)
    losses = [whole.step() for _ in range(6)]
    for number in drawn(kind, 2 * FEW):
        training = Training(kind)
        assert same([training.step(), training.step()], losses[:2])
        kept = interrupted(training.step, number, raised)
        found = [training.step(), training.step()]
        once = same(found, losses[2:4])
        assert once or same(found, losses[3:5]), (number, found, losses)
        del kept
        assert same([training.step()], [losses[4 if once else 5]]), number


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_block_that_could_not_end(
    kind: Callable[[], Callable[[], Any]], session: Session, swallowed: list[str]
) -> None:
    """Interrupted as `__exit__` begins, with the exception kept: the next call ends the block."""
    whole = Training(kind)
    losses = [whole.step() for _ in range(5)]
    before, ends = surroundings(), events_of(whole.step, name="__exit__")
    for number in range(1, ends + 1):
        training = Training(kind)
        assert same([training.step(), training.step()], losses[:2])
        kept = interrupted(training.step, number, KeyboardInterrupt, name="__exit__")
        after = [training.step(), training.step()]
        assert same(after, losses[2:4]) or same(after, losses[3:5]), (number, after, losses)
        assert surroundings() == before, number
        del kept
        assert surroundings() == before, number
