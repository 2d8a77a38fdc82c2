"""A client that is killed while it trains: another process goes on as if nothing had been."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.service.crash.nursery import ROOT
from tests.service.crash.process import served

STEPS, KILLS = 400, 20


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where sessions are kept."""
    if request.param == "SQLite":
        return str(tmp_path / "data")
    return str(request.getfixturevalue("cluster").database())


def started(url: str, label: str, *numbers: int) -> subprocess.Popen[str]:
    given = map(str, numbers or (STEPS,))
    command = [sys.executable, "-m", "tests.clients.training", url, label, *given]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def told(url: str, label: str, *numbers: int) -> list[list[str]]:
    """What a run says that ends by itself."""
    said, complaints = started(url, label, *numbers).communicate(timeout=120)
    assert not complaints
    return [line.split() for line in said.splitlines()]


def test_losses_go_on_as_if_nobody_had_been_killed(data: str) -> None:
    draws = random.Random(5)
    with served(data) as server:
        whole = dict(told(server.url, "whole"))
        found: dict[str, str] = {}
        for _ in range(KILLS):
            process = started(server.url, "killed")
            assert process.stdout is not None
            lines = draws.randrange(8)  # 0: while it starts, or takes up what is there
            for _ in range(lines):
                step, _, loss = process.stdout.readline().partition(" ")
                assert found.setdefault(step, loss.strip()) == whole[step]
            time.sleep(draws.uniform(0.0, 0.01 if lines else 1.0))
            process.kill()
            rest, _ = process.communicate(timeout=60)
            for line in rest.splitlines(keepends=True):
                step, _, loss = line.partition(" ")
                if line.endswith("\n"):  # else it was killed as it told
                    assert found.setdefault(step, loss.strip()) == whole[step]
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
            process = started(server.url, label, steps, replies)
            said = process.communicate(timeout=60)[0].splitlines()
            found = dict(line.split() for line in said)
            again = dict(told(server.url, label, steps))
            assert again["end"] == whole["end"], replies
            for step, loss in (found | again).items():
                assert loss == whole[step], (replies, step)


def test_it_goes_on_after_the_server_was_killed_too(data: str) -> None:
    with served(data) as server:
        whole = dict(told(server.url, "whole"))
        process = started(server.url, "killed")
        assert process.stdout is not None
        found = [process.stdout.readline().split() for _ in range(9)]
        process.kill()
        rest = process.communicate(timeout=60)[0]
        found += [line.split() for line in rest.splitlines()[:-1]]
        server.kill()
    with served(data) as server:
        found += told(server.url, "killed")
    assert all(whole[step] == loss for step, loss in found)
    assert found[-1] == ["end", whole["end"]]
