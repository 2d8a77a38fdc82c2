"""The same programs on torch, on gradwire embedded, over HTTP and over streams show the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from inspect import getmembers, isfunction
from pkgutil import iter_modules
from typing import Any

import pytest
from tests.parity import programs
from tests.parity.compare import differences
from tests.parity.observe import See

import gradwire

torch = pytest.importorskip("torch", reason="make parity installs torch")

Program = Callable[[Any, See], None]


def _programs() -> dict[str, Program]:
    found = {}
    for module in iter_modules(programs.__path__):
        loaded = import_module(f"{programs.__name__}.{module.name}")
        for name, function in getmembers(loaded, isfunction):
            if function.__module__ == loaded.__name__ and not name.startswith("_"):
                found[f"{module.name}.{name}"] = function
    return found


PROGRAMS = _programs()
STREAMED = (
    "basics.", "custom_functions.", "hooks.", "in_place.", "learning.", "optimizers.",
    "raising_hooks.",
)  # fmt: skip
"""What is shown over streams too: their requests are HTTP's, but for how they travel."""


def _run(program: Program, module: Any) -> list[tuple[str, Any]]:
    """What the program shows when `torch` is this module."""
    see, default = See(), module.get_default_dtype()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program(module, see)
    finally:
        module.set_default_dtype(default)
    return see.seen


@cache
def _on_torch(name: str) -> list[tuple[str, Any]]:
    return _run(PROGRAMS[name], torch)


def test_there_are_enough_programs() -> None:
    assert len(PROGRAMS) >= 60


@pytest.mark.parametrize("name", PROGRAMS)
def test_shows_the_same_as_on_torch(name: str, door: str | None) -> None:
    _compare(name, gradwire.connect(door))


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name.startswith(STREAMED)])
def test_shows_the_same_embedded_with_a_limit(name: str) -> None:
    _compare(name, gradwire.connect(), memory_limit_bytes=2**40)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name.startswith(STREAMED)])
def test_shows_the_same_over_a_stream(name: str, server_url: str) -> None:
    _compare(name, gradwire.connect(server_url, transport="stream"))


def _compare(name: str, client: gradwire.current.Client, **settings: int) -> None:
    expected = _on_torch(name)
    assert expected, "a program that shows nothing proves nothing"
    with client.session(**settings):
        actual = _run(PROGRAMS[name], gradwire)
    assert [n for n, _ in actual] == [n for n, _ in expected]
    pairs = zip(expected, actual, strict=True)
    found = [d for (n, e), (_, a) in pairs for d in differences(e, a, n)]
    assert not found, "\n".join(found)
