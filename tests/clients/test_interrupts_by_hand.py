"""Ctrl-C in a terminal: SIGINT to a program's process group, again and again while it trains."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from tests.nursery import ROOT

STEPS, INTERRUPTS = 1500, 12


def started(url: str, transport: str) -> subprocess.Popen[str]:
    """The program, in a process group of its own."""
    command = [sys.executable, "-m", "tests.clients.notebook", url, transport, str(STEPS)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, str]:
    """What the program says where nobody interrupts it."""
    said, _ = started("here", "http").communicate(timeout=120)
    return dict(line.split() for line in said.splitlines())


@pytest.mark.parametrize("transport", ["embedded", "http", "stream"])
def test_a_program_goes_on_after_ctrl_c(
    transport: str, undisturbed: dict[str, str], request: pytest.FixtureRequest
) -> None:
    draws, lines = random.Random(3), []
    url = "here" if transport == "embedded" else request.getfixturevalue("server_url")
    with started(url, "stream" if transport == "stream" else "http") as program:
        assert program.stdout is not None
        assert program.stdout.readline().startswith("ready")
        for _ in range(INTERRUPTS):
            time.sleep(draws.uniform(0.0, 0.05))
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGINT)
            while (line := program.stdout.readline()) and not line.startswith("interrupt"):
                lines.append(line)
            lines.append(line)
        rest, _ = program.communicate(timeout=120)
    said = [line.split() for line in [*lines, *rest.splitlines()] if line]
    assert program.returncode == 0
    assert sum(what == "interrupt" for what, _ in said) >= INTERRUPTS // 2
    found = {what: value for what, value in said if what != "interrupt"}
    assert found["end"] == undisturbed["end"]
    assert found.items() <= undisturbed.items()
    assert len(undisturbed) - len(found) <= INTERRUPTS + 1  # done, and not told
