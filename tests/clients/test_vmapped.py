"""vmap's in_dims: an axis for each argument, or for each part of one, by its place or its key."""

from __future__ import annotations

import re
from typing import Any

import pytest

import gradwire as torch
from gradwire.session import Session


@pytest.mark.parametrize(
    ("in_dims", "said"),
    [
        ({"w": 0, "b": None}, "({'w': 0, 'b': None},)"),
        ([{"w": 0, "b": None}], "({'w': 0, 'b': None},)"),
        (None, "(0, {'w': 0, 'b': None})"),
    ],
)
def test_in_dims_that_are_no_tuple_are_shown_as_one(in_dims: Any, said: str) -> None:
    mapped = torch.func.vmap(lambda p: p["w"].sum() + p["b"], in_dims=in_dims)
    with pytest.raises(ValueError, match=re.escape(f"an item for each argument, as in {said}")):
        mapped({"w": torch.ones(3, 2), "b": torch.ones(3)})


def test_in_dims_of_a_dict_are_taken_by_key(session: Session) -> None:
    """Whatever the order in which they are written, which torch goes by where axes differ."""
    mapped = torch.func.vmap(lambda p: p["w"] * p["b"], in_dims=({"b": None, "w": 1},))
    w = torch.arange(6.0).reshape(2, 3)
    assert mapped({"w": w, "b": torch.tensor([1.0, 10.0])}).tolist() == [
        [0.0, 30.0],
        [1.0, 40.0],
        [2.0, 50.0],
    ]
