"""Anomaly mode in the SDK: the node, and the line that built it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gradwire as torch
from gradwire.anomaly import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from gradwire.session import Session

pytestmark = pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")


def faulty() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    root = torch.sqrt(x)
    return x, (root * 0).sum()


def refused(run: Callable[[], object]) -> RuntimeError:
    with pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values") as caught:
        run()
    assert caught.value.code == "nan_gradient"  # type: ignore[attr-defined]
    return caught.value


def test_the_line_that_built_the_node_is_named(session: Session) -> None:
    with detect_anomaly():
        x, y = faulty()
        problem = refused(y.backward)
    line = faulty.__code__.co_firstlineno + 2
    assert any(note.endswith(f"test_anomaly.py:{line}") for note in problem.__notes__)
    assert x.grad is None
    x, y = faulty()
    y.backward()
    assert str(x.grad.tolist()) == "[nan, 0.0]"


def test_what_was_built_before_is_found_too(session: Session) -> None:
    x, y = faulty()
    y.tolist()
    with detect_anomaly():
        refused(lambda: torch.autograd.grad(y, x))


def test_it_ends_with_the_block_and_may_not_look(session: Session) -> None:
    x, y = faulty()
    with detect_anomaly(check_nan=False):
        assert is_anomaly_enabled() and not is_anomaly_check_nan_enabled()
        y.backward()
    assert not is_anomaly_enabled()
    x, y = faulty()
    y.backward()
    assert x.grad is not None


def test_switched_on_until_switched_off(session: Session) -> None:
    set_detect_anomaly(True)
    try:
        refused(faulty()[1].backward)
    finally:
        set_detect_anomaly(False)
    faulty()[1].backward()
    with set_detect_anomaly(True):
        refused(faulty()[1].backward)
    assert not is_anomaly_enabled()


def test_it_warns_as_torch_does() -> None:
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        detect_anomaly()
