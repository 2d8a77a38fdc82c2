"""States of generators that are none: refused where they are set, and nothing else is lost."""

from __future__ import annotations

import pytest

import gradwire as torch
from gradwire.session import Session


@pytest.mark.parametrize(
    ("state", "said"),
    [([255] * 16, "a state of 18446744073709551615 draws"), ([1] * 3, "16 bytes")],
)
def test_a_state_that_cannot_be(session: Session, state: list[int], said: str) -> None:
    made = torch.ones(2) + 1
    generator = torch.Generator()
    before = generator.get_state().tolist()
    with pytest.raises(torch.GradwireError, match=said):
        generator.set_state(torch.tensor(state, dtype=torch.uint8))
    assert generator.get_state().tolist() == before
    assert torch.rand(2, generator=generator).shape == (2,)
    assert made.tolist() == [2.0, 2.0]
