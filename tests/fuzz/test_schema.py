"""Requests out of the examples of OpenAPI; `make fuzz` has tens of thousands of all kinds."""

from __future__ import annotations

import tomllib

import pytest
from tests.fuzz.schema.campaign import CONFIG, fuzz


@pytest.mark.slow
def test_the_contract_is_as_documented() -> None:
    found = fuzz(6, 1, ("examples",))
    assert found.operations > 50
    assert found.requests > 500


def test_no_check_is_off() -> None:
    """What has exceptions says statuses; nothing is disabled."""
    text = CONFIG.read_text()
    assert "enabled" not in text
    checks = tomllib.loads(text)["checks"]
    assert checks.keys() == {"positive_data_acceptance", "negative_data_rejection"}
