"""What `import gradwire` leaves behind, each time in a process of its own."""

from __future__ import annotations

import subprocess
import sys


def printed(code: str) -> str:
    """What a fresh interpreter prints for these lines."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_collector_runs_again_and_has_little_to_look_at() -> None:
    young = "len(gc.get_objects(0)) + len(gc.get_objects(1))"
    on, looked_at = printed(f"import gradwire, gc; print(gc.isenabled(), {young})").split()
    assert on == "True"
    assert int(looked_at) < 5000, "of about 60,000 that an import leaves"


def test_nothing_stays_frozen() -> None:
    assert printed("import gradwire, gc; print(gc.get_freeze_count())") == "0"


def test_what_the_program_froze_stays_frozen() -> None:
    code = "import gc; gc.freeze(); import gradwire; print(gc.get_freeze_count() > 0)"
    assert printed(code) == "True"


def test_a_collector_that_was_off_stays_off() -> None:
    assert printed("import gc; gc.disable(); import gradwire; print(gc.isenabled())") == "False"


def test_an_import_that_fails_leaves_the_collector_on() -> None:
    code = """
import gc, sys
sys.modules["httpx"] = sys.modules["ml_dtypes"] = None
try:
    import gradwire
except ImportError:
    print(gc.isenabled())
"""
    assert printed(code) == "True"
