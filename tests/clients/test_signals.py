"""Real signals, hundreds of them, at random moments of a training: each next step is right."""

from __future__ import annotations

import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from types import FrameType
from typing import Any

import pytest
from tests.clients.test_interrupts import Training, adam

import gradwire as torch
from gradwire.connections import connected

SIGNALS = 200
STEPS = 12
"""Of one training, each of which may be interrupted; another undisturbed one follows each."""


class OutOfTimeError(Exception):
    """As a time limit of a user's own raises it."""


@contextmanager
def raising(raised: type[BaseException]) -> Iterator[Callable[[float], None]]:
    """Have SIGALRM raise this; the function that is given says after how many seconds."""

    def handler(number: int, frame: FrameType | None) -> None:
        raise raised

    before = signal.signal(signal.SIGALRM, handler)
    try:
        yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Python swallows, as in `__del__`, are interrupts and nothing else."""

    def note(problem: Any) -> None:
        assert isinstance(problem.exc_value, KeyboardInterrupt | OutOfTimeError)

    monkeypatch.setattr(sys, "unraisablehook", note)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, OutOfTimeError])
@pytest.mark.parametrize("transport", ["embedded", "http", "stream"])
def test_training_goes_on(
    transport: str,
    raised: type[BaseException],
    swallowed: None,
    request: pytest.FixtureRequest,
) -> None:
    if transport == "embedded":
        client = torch.connect()
    else:
        client = torch.connect(request.getfixturevalue("server_url"), transport=transport)
    draws, came, kept = random.Random(5), 0, []
    with client.session(), raising(raised) as arm:
        whole = Training(adam)
        losses, takes, sent = [], 1.0, 0
        for _ in range(3 * STEPS):
            began = perf_counter()
            losses.append(whole.step())
            takes = min(takes, perf_counter() - began)
        while sent < SIGNALS:
            training, place = Training(adam), 0
            for _ in range(STEPS):
                done = False
                try:
                    arm(draws.uniform(0.0, takes) + 1e-5)
                    training.step()
                    done = True
                    arm(0)
                except raised as problem:
                    came += 1
                    kept = [problem] if draws.random() < 0.5 else []  # as a notebook keeps it
                arm(0)
                sent += 1
                found = training.step()
                places = [p for p in (place, place + 1) if losses[p] == found]
                assert places, (sent, place, done)
                place = places[0] + 1
            kept.clear()
    assert came > SIGNALS // 4
    torch.connect()


def test_the_lock_of_httpxs_pool_is_entered_without_python() -> None:
    with connected("http://127.0.0.1:9", {}, 1.0) as client:
        lock = client._transport._pool._optional_thread_lock
        assert type(lock) is type(threading.Lock())
