"""What ends: programs, blocks and sessions, and what is left of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import gradwire as torch
from gradwire.session import Session

ROOT = Path(__file__).parents[2]
ENDS = {
    "by its end": "",
    "by an error": "raise SystemExit('an error')",
    "by sys.exit": "import sys; sys.exit()",
    "out of no block": "session.__enter__()",
}
_PROGRAM = """
import gradwire as torch
session = torch.connect({url!r}, transport={transport!r}).session(label={label!r})
with session:
    model = torch.nn.Linear(3, 1)
    with torch.no_grad():
        model.weight.zero_()
        model.bias.zero_()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    held = torch.rand(3)  # as a script holds what it made, to its end
    {end}
session.__enter__()
held += 1
with torch.no_grad():
    model.bias.sub_(0.0)
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    """What a program of its own said, to its end; its warnings are errors."""
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)


@pytest.fixture(params=["http", "stream"])
def client(request: pytest.FixtureRequest, server_url: str) -> Iterator[torch.Client]:
    yield torch.connect(server_url, transport=request.param)
    torch.connect()


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_what_a_program_recorded_last_is_done(
    client: torch.Client, server_url: str, end: str, request: pytest.FixtureRequest
) -> None:
    label = f"ends {uuid4()}"
    transport = request.node.callspec.params["client"]
    program = _PROGRAM.format(url=server_url, transport=transport, label=label, end=end)
    done = run(program)
    assert done.stderr in ("", "an error\n")
    found = client.attach(label)
    assert found.tensors["bias"].tolist() == [-1.0]
    assert sorted(found.tensors) == ["bias", "weight"]  # all else was freed
    found.close()


@pytest.mark.parametrize("early", [True, False])
def test_sessions_without_a_label_end_with_their_program(
    client: torch.Client, server_url: str, early: bool, request: pytest.FixtureRequest
) -> None:
    """Also where another library was the first to have something done at a program's end."""
    before = {one["id"] for one in client.sessions()}
    transport = request.node.callspec.params["client"]
    first = "import tempfile, weakref; weakref.finalize(tempfile, print)" if early else ""
    program = f"""
{first}
import gradwire as torch
torch.connect({server_url!r}, transport={transport!r})
x = torch.ones(2) * 2
print(x)
"""
    done = run(program)
    assert not done.stderr
    assert "tensor([2., 2.])" in done.stdout
    assert {one["id"] for one in client.sessions()} <= before


def test_streams_of_sessions_that_stay_are_closed(server_url: str) -> None:
    client = torch.connect(server_url, transport="stream")
    for number in range(20):
        with client.session(label=f"line {number}") as session:
            torch.ones(2).tolist()
        assert not client.attach(session.id).tensors
    assert len(client.transport._lines) <= 2
    for one in client.sessions():
        if (one["label"] or "").startswith("line "):
            client.attach(one["id"]).close()
    torch.connect()


def test_modules_of_a_session_that_ended_are_no_matter_of_others(client: torch.Client) -> None:
    with client.session():
        never_called = torch.nn.Linear(2, 2)
    with client.session() as session:
        model = torch.nn.Linear(2, 2)
        model(torch.ones(1, 2)).tolist()
        assert {"weight", "bias"} <= set(session.tensors)
    assert never_called.weight.shape == (2, 2)


def test_a_name_that_was_taken_over_shows_what_it_is_now(client: torch.Client) -> None:
    with client.session(label=f"names {uuid4()}") as first:
        first.tensors["a"] = torch.ones(2)
    session: Session = client.attach(first.id)
    with session.here():
        before = session.tensors["a"]
        session.tensors["a"] = torch.zeros(3)
        assert before.tolist() == [1.0, 1.0]
        del before
        assert session.tensors["a"].tolist() == [0.0, 0.0, 0.0]
    session.close()
