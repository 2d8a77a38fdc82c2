"""A compiler's code leaves memory when it has compiled, and compiles again."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from gradwire_engine.kernels import code_pages
from gradwire_engine.kernels.code_pages import _code, let_go_of_code

PLANS = """
import re
from pathlib import Path
import numpy as np
from gradwire_engine.catalogue import resolve
from gradwire_engine.kernels import code_pages
from gradwire_engine.plan import plan_of
from gradwire_engine.spec import Spec, dtype_of

def resident():
    '''Bytes of the compiler's code that are mapped.'''
    found = re.findall(r"(r-xp) .*libllvmlite.*(?:\\n.*)*?\\nRss: +([0-9]+) kB",
                       Path("/proc/self/smaps").read_text())
    return sum(1024 * int(size) for _, size in found)

def checked(function, wanted):
    x = np.linspace(-1, 1, 1 << 18, dtype=np.float32)
    plan = plan_of(function, [Spec(x.shape, dtype_of(x.dtype), "cpu")])
    after = resident()
    assert any(getattr(unit, "native", None) for unit in plan.units)
    np.testing.assert_array_equal(plan.run([x])[0], wanted(x))
    return after

letting_go, kept = code_pages.let_go_of_code, []
from gradwire_engine.plan.compiled import llvm
llvm.let_go_of_code = lambda library: kept.append((resident(), letting_go(library)))
first = checked(lambda x: [resolve("tanh")(x * 2) + 1], lambda x: np.tanh(x * 2) + 1)
second = checked(lambda x: [resolve("exp")(x * 3) - 1], lambda x: np.exp(x * 3) - 1)
print(len(kept), *kept[0], first, second)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says where code lies")
def test_code_that_compiled_is_let_go_when_a_plan_is_made() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLANS], capture_output=True, text=True, timeout=60, check=True
    )
    times, before, asked, first, second = map(int, done.stdout.split())
    assert times == 2
    assert before > 2**20
    assert asked > before
    assert max(first, second) < before / 4


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("7f00-7f80 r-xp 00001000 08:01 1 /some where/libllvmlite.so", (0x7F00, 0x7F80)),
        ("7f00-7f80 r--p 00001000 08:01 1 /some where/libllvmlite.so", None),  # relocated tables
        ("7f00-7f80 rw-p 00001000 08:01 1 /some where/libllvmlite.so", None),
        ("7f00-7f80 rwxp 00001000 08:01 1 /some where/libllvmlite.so", None),
        ("7f00-7f80 r-xp 00001000 08:01 1 /libllvmlite/other.so", None),
        ("7f00-7f80 r-xp 00000000 00:00 0", None),
        ("", None),
    ],
)
def test_nothing_but_code_is_let_go(line: str, found: tuple[int, int] | None) -> None:
    assert _code(line, "libllvmlite") == found


def test_where_nobody_says_what_is_mapped_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    assert let_go_of_code("no such library") == 0
    monkeypatch.setattr(code_pages, "_MAPS", code_pages._MAPS / "nowhere")
    assert let_go_of_code("lib") == 0
    assert np.tanh(0.0) == 0.0
