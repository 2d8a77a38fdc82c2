"""Random programs whose session goes through a snapshot again and again, beside torch's run."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

pytest.importorskip("torch", reason="make parity installs torch")

import torch
from tests.parity.differential.campaign import seeds_from
from tests.parity.differential.generate import LENGTH, program
from tests.parity.differential.run import Found, compare

import gradwire
from gradwire.embedded import _host, _own_state
from gradwire_service.host import safetensors

SEED, COUNT, PARTS = 3, 50, 5


class Moving:
    """A session that after each step goes on as another one, out of the snapshot of the last."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.moved = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def flush(self, *args: Any, **kwargs: Any) -> Any:
        """Send what is recorded, and move."""
        found = self._session.flush(*args, **kwargs)
        with _own_state():
            self._move()
        return found

    def _move(self) -> None:
        host = _host()
        old = host.session(self._session.id)
        snapshot = _bytes(host.snapshot(old))
        new = host.restore(*safetensors.read(snapshot))
        assert _bytes(host.snapshot(new)) == snapshot
        self._session.id = new.id
        host.delete(old)
        self.moved += 1


def _bytes(buffers: Any) -> bytes:
    return b"".join(map(bytes, buffers))


def run(seed: int) -> tuple[Found, int]:
    """Run the program of a seed; what differed, and how often its session moved."""
    made = program(seed, LENGTH)
    with warnings.catch_warnings(), gradwire.connect(None).session() as session:
        warnings.simplefilter("ignore")
        moving = Moving(session)
        found = compare(made, torch, gradwire, moving)
    return found, moving.moved


def stayed(seed: int) -> Found:
    """The same without snapshots."""
    with warnings.catch_warnings(), gradwire.connect(None).session() as session:
        warnings.simplefilter("ignore")
        return compare(program(seed, LENGTH), torch, gradwire, session)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_program_never_notices_that_its_session_moves(part: int) -> None:
    total = 0
    for seed in seeds_from(SEED, COUNT)[part::PARTS]:
        found, moved = run(seed)
        if found.at is not None:  # where it differs from torch, it does so without moving too
            assert found.differences == stayed(seed).differences, (seed, found.at)
        total += moved
    assert total > COUNT
