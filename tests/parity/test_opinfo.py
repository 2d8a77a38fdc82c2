"""Three samples of every entry of torch's own table of ops; `make parity-full` runs all of them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="make parity installs torch")

from tests.parity.opinfo.not_yet import NOT_YET
from tests.parity.opinfo.run import WAYS, entries, told

import gradwire


@pytest.mark.parametrize("name", entries())
def test_three_samples_are_as_on_torch(name: str) -> None:
    gradwire.connect()
    ways = [way for way in WAYS if f"{name} / {way}" not in NOT_YET]
    found = {way: lines for way in ways if (lines := told(name, way, 3))}
    assert not found


def test_what_is_left_is_named_with_its_reason() -> None:
    keys = {f"{name} / {way}" for name in entries() for way in (*WAYS, "http")}
    assert set(NOT_YET) <= keys
    assert all(NOT_YET.values())


def test_the_table_is_as_large_as_it_should_be() -> None:
    assert len(entries()) >= 450
