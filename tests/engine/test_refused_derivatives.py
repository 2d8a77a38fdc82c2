"""Ops that are recorded though they have no derivative: a walk that comes to them ends there."""

from __future__ import annotations

import pytest
from tests.engine.calls import leaf, op, slopes, walk_back

from gradwire_engine.errors import GradwireError


def test_a_walk_that_comes_to_what_has_no_derivative_is_refused() -> None:
    x, y = leaf([5.0, 7.0]), leaf([1.0, 2.0])
    whole = op("sum", op("add", op("floor_divide", x, 2), y))
    assert op("floor_divide", x, 2).grad_fn.name() == "NotImplemented"
    with pytest.raises(GradwireError, match="derivative of floor_divide is not implemented"):
        walk_back(whole)
    assert x.grad is None and y.grad is None
    assert slopes(whole, y) == [[1, 1]]
