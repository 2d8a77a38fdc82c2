"""BLAS threads spin briefly, whichever of NumPy and the engine is imported first."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gradwire_engine.kernels.spinning import CYCLES, SETTING

SAID = f"""
import os, sys
names = list(sys.modules)
assert names.index("gradwire_engine.kernels.spinning") < names.index("numpy")
print(os.environ["{SETTING}"])
"""


def said(code: str, **environment: str) -> str:
    """What a fresh process prints."""
    given = {name: value for name, value in os.environ.items() if name != SETTING}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=given | environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("module", ["gradwire_engine", "gradwire", "gradwire_service.http.serve"])
def test_whichever_part_is_imported_sets_it_before_numpy(module: str) -> None:
    assert said(f"import {module}" + SAID) == str(CYCLES)


def test_what_the_environment_says_stays_in_force() -> None:
    assert said("import gradwire_engine" + SAID, **{SETTING: "28"}) == "28"


SPUN = """
import time
import numpy as np
a = np.ones((600, 600), np.float32)
a @ a
import gradwire_engine
a @ a
before = time.process_time()
time.sleep(0.06)
print(time.process_time() - before)
"""


def test_threads_of_a_numpy_that_came_first_stop_spinning_too() -> None:
    """Busy for a tenth of a second after a product, by themselves; a sleeping process is not."""
    assert float(said(SPUN)) < 0.02
    if len(os.sched_getaffinity(0)) > 1:
        assert float(said(SPUN, **{SETTING: "28"})) > 0.02
