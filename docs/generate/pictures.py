"""docs/pictures: what the demo draws, trained again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

DEMO = Path(__file__).parents[2] / "examples/digits.py"


def write(folder: Path) -> None:
    """Run the demo and keep its two pictures."""
    folder.mkdir(exist_ok=True)
    with TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, DEMO], cwd=scratch, check=True)
        for picture in Path(scratch, "demo").iterdir():
            shutil.copy(picture, folder)
