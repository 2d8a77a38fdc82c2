"""A few chains of calls beside the model; `make fuzz` has hundreds."""

from __future__ import annotations

import pytest
from tests.fuzz.sessions import model
from tests.fuzz.sessions.calls import Unlike
from tests.fuzz.sessions.campaign import fuzz
from tests.fuzz.sessions.machine import Sessions


@pytest.mark.slow
def test_sessions_are_as_the_model() -> None:
    found = fuzz(6, 12)
    assert found.calls > 500
    assert {"tensor_not_found", "graph_freed", "requires_no_grad"} <= found.codes.keys()


@pytest.mark.slow
def test_a_session_that_is_not_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that forgets to accumulate is told apart at once."""

    def once(root: model.Tensor, keep: bool) -> None:
        for edge, g in model.walk(root, None, keep).items():
            if isinstance(edge, model.Tensor):
                edge.grad = g

    monkeypatch.setattr(model, "backward", once)
    with pytest.raises(Unlike, match="gradient of a"):
        fuzz(6, 40)


def test_every_kind_of_change_has_a_rule() -> None:
    rules = {
        name for name, what in vars(Sessions).items() if hasattr(what, "hypothesis_stateful_rule")
    }
    assert {"op", "in_place", "backward", "grad", "free", "again", "once", "wrong", "gone"} <= rules
