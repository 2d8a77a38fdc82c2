"""The demo, as `make demo` runs it: it learns, and draws what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PNG = b"\x89PNG\r\n\x1a\n"


def test_the_demo_learns_and_draws(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples/digits.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    accuracy = re.search(r"test accuracy: (0\.\d+)", done.stdout)
    assert accuracy
    assert float(accuracy[1]) >= 0.95
    assert (tmp_path / "demo/loss.png").read_bytes().startswith(PNG)
    drawn = words(tmp_path / "demo/graph.svg")
    assert {"x", "w1", "w1.grad", "nn.functional.linear", "[64, 10] float32"} <= set(drawn)
    kept = words(ROOT / "docs/pictures/graph.svg")
    assert drawn == kept, "the README shows another graph: make docs ARGS=--pictures"


def words(picture: Path) -> list[str]:
    """All that a picture says, sorted: names, ops, shapes, and its edges by their titles."""
    found = ElementTree.parse(picture).iter()
    return sorted(e.text for e in found if e.text and not e.tag.endswith("style"))
