"""The example scripts train to the same losses on torch, embedded and over HTTP."""

from __future__ import annotations

from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from types import ModuleType

import numpy as np
import pytest

import gradwire

torch = pytest.importorskip("torch", reason="make parity installs torch")

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("sequence", "transformer", "convnet")


def load(name: str, library: str) -> ModuleType:
    """The example with its imports from this library."""
    text = (EXAMPLES / f"{name}.py").read_text()
    text = text.replace("import gradwire as torch", f"import {library} as torch")
    text = text.replace("from gradwire", f"from {library}")
    folder = Path(mkdtemp())
    (folder / f"{name}.py").write_text(text)
    spec = spec_from_file_location(f"{name}_{library}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    rmtree(folder)
    return made


@cache
def losses_on_torch(name: str) -> list[float]:
    """What the script's main gives with torch itself."""
    found: list[float] = load(name, "torch").main()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_trains_to_the_same_losses(name: str, door: str | None) -> None:
    expected = losses_on_torch(name)
    with gradwire.connect(door).session():
        losses = load(name, "gradwire").main()
    np.testing.assert_allclose(losses[:10], expected[:10], rtol=2e-4)
    np.testing.assert_allclose(losses, expected, rtol=2e-2)
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize("name", NAMES)
def test_is_a_script_that_is_short(name: str) -> None:
    assert 40 <= len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= 82
