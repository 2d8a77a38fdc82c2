"""What failed among others and not by itself is named; what fails again fails the run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
ONCE = """
from pathlib import Path

def test_once():
    seen = Path(__file__).with_name("seen")
    again = seen.exists()
    seen.touch()
    assert again

def test_good():
    assert True
"""
ALWAYS = "def test_always():\n    assert False\n"


@pytest.mark.parametrize(
    ("text", "status", "said", "unsaid"),
    [
        ("def test_good():\n    assert True\n", 0, "1 passed", "once more"),
        (ONCE, 0, "NOT RELIABLE", "test_good\n"),
        (ONCE + ALWAYS, 1, "2 failed; once more", "NOT RELIABLE"),
        ("def test_good(:", 2, "error", "NOT RELIABLE"),
    ],
    ids=["good", "once", "always", "broken"],
)
def test_what_a_run_comes_to(
    tmp_path: Path, text: str, status: int, said: str, unsaid: str
) -> None:
    (tmp_path / "test_it.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    run = subprocess.run(
        [sys.executable, HERE / "tests" / "twice.py", "--numprocesses", "1", "test_it.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == status, run.stdout + run.stderr
    assert said in run.stdout
    assert unsaid not in run.stdout
