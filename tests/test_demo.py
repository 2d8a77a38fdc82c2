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
    drawn = (tmp_path / "demo/graph.svg").read_text()
    texts = {element.text for element in ElementTree.fromstring(drawn).iter() if element.text}
    assert {"x", "w1", "w1.grad", "nn.functional.linear", "[64, 10] float32"} <= texts
    assert drawn == (ROOT / "docs/pictures/graph.svg").read_text(), (
        "the README shows another picture: make docs ARGS=--pictures"
    )
