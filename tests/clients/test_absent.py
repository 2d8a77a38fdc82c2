"""docs/sdk.md lists names that the SDK lacks: the list is true as long as this passes."""

from __future__ import annotations

import re
from functools import reduce
from importlib.util import find_spec
from pathlib import Path

import pytest

import gradwire

PAGE = Path(__file__).parents[2] / "docs" / "sdk.md"


def _listed() -> list[str]:
    found = re.search(r"names of PyTorch's are absent:(.*?)\n(\n|$)", PAGE.read_text(), re.DOTALL)
    assert found, "docs/sdk.md has no list of absent names"
    return re.findall(r"`([^`]+)`", found[1])


def _is_there(name: str) -> bool:
    try:
        reduce(getattr, name.split("."), gradwire)
    except AttributeError:
        package, _, last = f"gradwire.{name}".rpartition(".")
        return last.islower() and _is_module(package, last)
    return True


def _is_module(package: str, last: str) -> bool:
    try:
        return find_spec(f"{package}.{last}") is not None
    except ModuleNotFoundError:
        return False


def test_what_is_there_is_found() -> None:
    assert _is_there("nn.Linear")
    assert _is_there("optim.lr_scheduler")
    assert _is_there("autograd.functional")


@pytest.mark.parametrize("name", _listed())
def test_what_is_listed_as_absent_is_absent(name: str) -> None:
    assert not _is_there(name)
