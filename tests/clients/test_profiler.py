"""What the ops of a block took, embedded and at a server."""

from __future__ import annotations

import pytest

import gradwire as torch
from gradwire.current import session as in_force
from gradwire_engine.errors import GradwireError


@pytest.fixture(autouse=True)
def where(door: str | None) -> None:
    torch.connect(door)


def step() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x**2).sum().backward()


def test_a_session_profiles_a_block() -> None:
    torch.ones(3).exp()  # before it: sent before, and not counted
    with in_force().profile() as found:
        step()
        step()
    rows = {(row.kind, row.name): row for row in found.rows}
    assert ("op", "exp") not in rows
    assert rows["op", "pow"].count == rows["node", "PowBackward0"].count == 2
    assert rows["op", "pow"].bytes == 24
    assert 0 < sum(row.seconds for row in found.rows) <= found.seconds
    assert found.bytes == sum(row.bytes for row in found.rows)
    assert [row.seconds for row in found.rows] == sorted(
        (row.seconds for row in found.rows), reverse=True
    )


def test_after_the_block_nothing_is_measured() -> None:
    with in_force().profile() as found:
        step()
    before = found.seconds
    step()
    assert found.seconds == before


def test_the_profiler_of_torch() -> None:
    with torch.autograd.profiler.profile() as found:
        step()
    text = found.key_averages().table(sort_by="count", row_limit=3)
    lines = text.splitlines()
    assert lines[0].split() == ["name", "kind", "count", "seconds", "bytes"]
    assert len(lines) == 1 + 3 + 1
    assert "PowBackward0" in str(found)
    assert found.self_cpu_time_total > 0
    with pytest.raises(GradwireError, match="sort_by is 'cuda_time'"):
        found.table(sort_by="cuda_time")


def test_it_may_be_off() -> None:
    with torch.autograd.profiler.profile(enabled=False) as found:
        step()
    assert found.key_averages().rows == []


def test_an_inner_block_is_part_of_the_outer_one() -> None:
    with in_force().profile() as outer:
        step()
        with in_force().profile() as inner:
            step()
    count = {row.name: row.count for row in outer.rows}
    assert count["SumBackward0"] == 2
    assert {row.name: row.count for row in inner.rows}["SumBackward0"] == 1


def test_what_fails_in_the_block_is_raised() -> None:
    with pytest.raises(GradwireError), in_force().profile():
        torch.ones(2) @ torch.ones(3)
    step()
