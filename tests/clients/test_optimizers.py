"""Optimisers from Python, where they differ from torch's: what they refuse leaves no trace."""

from __future__ import annotations

import pytest

import gradwire as torch
from gradwire.session import Session


def test_a_group_that_is_refused_is_not_there(session: Session) -> None:
    a, b = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(3))
    adam = torch.optim.Adam([a], lr=0.1)
    with pytest.raises(ValueError, match="beta parameter"):
        adam.add_param_group({"params": [b], "betas": (1.0, 0.9)})
    assert len(adam.param_groups) == 1
    adam.add_param_group({"params": [b], "lr": 0.5})
    (a.sum() + b.sum()).backward()
    adam.step()
    assert a.tolist() == pytest.approx([0.9] * 2)
    assert b.tolist() == pytest.approx([0.5] * 3)
