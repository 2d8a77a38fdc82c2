"""A client that is killed while it trains: another process goes on as if nothing had been."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.nursery import ROOT, Child, nursery
from tests.service.crash.process import served

STEPS, KILLS = 400, 20


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where sessions are kept."""
    if request.param == "SQLite":
        return str(tmp_path / "data")
    return str(request.getfixturevalue("cluster").database())


@contextmanager
def started(url: str, label: str, *numbers: int, transport: str = "http") -> Iterator[Child]:
    """The training program, which has ended after the block."""
    given = numbers or (STEPS,)
    program = "tests.clients.training:main"
    with nursery().spawn(program, url, label, transport, *given, folder=ROOT) as process:
        try:
            yield process
        finally:
            process.kill()


def told(url: str, label: str, *numbers: int) -> list[tuple[str, str]]:
    """What a run says that ends by itself."""
    with started(url, label, *numbers) as process:
        said, complaints = process.communicate(timeout=120)
    assert not complaints
    return [(step, loss) for step, _, loss in (line.partition(" ") for line in said.splitlines())]


def read(process: Child) -> tuple[str, str]:
    """A step and its loss, which the program tells."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate(timeout=60)[1]  # it ended by itself
    step, _, loss = line.partition(" ")
    return step, loss.strip()


def killed(process: Child) -> list[tuple[str, str]]:
    """Kill the program; what it had told whole, and nobody read yet."""
    process.kill()
    rest, complaints = process.communicate(timeout=60)
    assert not complaints
    whole = [line for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    return [(step, loss.strip()) for step, _, loss in (line.partition(" ") for line in whole)]


def test_losses_go_on_as_if_nobody_had_been_killed(data: str) -> None:
    draws = random.Random(5)
    with served(data) as server:
        whole = dict(told(server.url, "whole"))
        found: dict[str, str] = {}
        for kill in range(KILLS):
            transport = ("http", "stream")[kill % 2]
            with started(server.url, "killed", transport=transport) as process:
                lines = draws.randrange(8)  # 0: while it starts, or takes up what is there
                said = [read(process) for _ in range(lines)]
                time.sleep(draws.uniform(0.0, 0.01 if lines else 1.0))
                said += killed(process)
            for step, loss in said:
                assert found.setdefault(step, loss) == whole[step], (kill, step)
        assert "end" not in found
        found |= dict(told(server.url, "killed"))
        assert found["end"] == whole["end"]
        assert {step: loss for step, loss in whole.items() if step in found} == found
        assert len(whole) - len(found) <= KILLS  # done, and killed before it was told
        listed = server.client.get("/v1/sessions", params={"label": "killed"}).json()["items"]
        assert [one["durable"] for one in listed] == [True]


def test_a_client_that_ends_after_any_reply_loses_nothing(tmp_path: Path) -> None:
    steps = 3
    with served(str(tmp_path)) as server:
        whole = dict(told(server.url, "whole", steps))
        for replies in range(1, 12):
            label = f"ends after {replies}"
            with started(server.url, label, steps, replies) as process:
                said = process.communicate(timeout=60)[0].splitlines()
            found = dict(line.split() for line in said)
            again = dict(told(server.url, label, steps))
            assert again["end"] == whole["end"], replies
            for step, loss in (found | again).items():
                assert loss == whole[step], (replies, step)


def test_it_goes_on_after_the_server_was_killed_too(data: str) -> None:
    with served(data) as server:
        whole = dict(told(server.url, "whole"))
        with started(server.url, "killed") as process:
            found = [read(process) for _ in range(9)]
            found += killed(process)
        server.kill()
    with served(data) as server:
        found += told(server.url, "killed")
    assert all(whole[step] == loss for step, loss in found)
    assert found[-1] == ("end", whole["end"])
