"""docs/dependencies.md lists what pyproject.toml has, no more and no less; licences are judged."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from deploy.supply import depended, fits, licences
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [project["dependencies"], *project["optional-dependencies"].values()]
    return {Requirement(text).name for part in listed for text in part}


def test_the_page_lists_exactly_the_dependencies() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text()
    assert sorted(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)) == sorted(declared())


def test_licences_of_what_the_server_needs() -> None:
    assert {"numpy", "pydantic-core", "starlette"} <= depended("gradwire", ("server",))
    assert list(licences()) == []


@pytest.mark.parametrize(
    ("said", "good"),
    [
        ("MIT", True), ("BSD-3-Clause AND 0BSD AND Zlib", True), ("GPL-3.0-only", False),
        ("MIT AND AGPL-3.0", False), ("LGPL-2.1", False), ("", False), ("Proprietary", False),
        ("BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1", True),
        ("GNU General Public License v3 (GPLv3)", False),
    ],
)  # fmt: skip
def test_which_licences_fit(said: str, good: bool) -> None:
    assert fits(said) is good
