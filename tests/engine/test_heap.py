"""The heap's settings, each in a process of its own: they can't be taken back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gradwire_engine.kernels import heap

FAULTS = """
import resource
import numpy as np
kept = {keep} and __import__("gradwire_engine.kernels.heap").kernels.heap.keep_freed_memory()
arrays = [np.ones(1 << 20) for _ in range(3)]
del arrays
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    arrays = [np.ones(1 << 20) for _ in range(3)]
    del arrays
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
HEAPS = """
import ctypes, sys
from threading import Barrier, Thread
{keep} and __import__("gradwire_engine")
libc, everybody = ctypes.CDLL(None), Barrier({threads})
libc.malloc.restype = libc.fdopen.restype = ctypes.c_void_p
def work():
    everybody.wait()
    libc.malloc(100_000)
    everybody.wait()
threads = [Thread(target=work) for _ in range({threads})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
out = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
"""
GIVEN_BACK = """
import os
import numpy as np
from gradwire_engine.kernels.heap import give_back
def resident():
    with open("/proc/self/statm") as fields:
        return int(fields.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
arrays = [np.ones(1 << 17) for _ in range(100)]
del arrays[:-1]
before = resident()
print(give_back(), before, resident())
"""
ON_GLIBC = pytest.mark.skipif(not heap._glibc(), reason="only glibc's heap can be told")


def run(keep: bool, **environment: str) -> tuple[bool, int]:
    """Whether the settings were made, and the pages touched first by 20 steps of three 8 MiB."""
    found = subprocess.run(
        [sys.executable, "-c", FAULTS.format(keep=keep)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    kept, faults = found.stdout.split()
    return kept == "True", int(faults)


@ON_GLIBC
def test_a_step_touches_the_pages_of_the_last() -> None:
    kept, faults = run(keep=True)
    assert kept
    assert faults * 10 < run(keep=False)[1]


@ON_GLIBC
@pytest.mark.parametrize(
    "name",
    ["MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_ARENA_MAX", "GLIBC_TUNABLES"],
)
def test_the_environment_has_the_last_word(name: str) -> None:
    value = "glibc.malloc.trim_threshold=131072" if name == "GLIBC_TUNABLES" else "131072"
    assert not run(keep=True, **{name: value})[0]


@ON_GLIBC
def test_what_lies_free_between_arrays_is_given_back() -> None:
    program = [sys.executable, "-c", GIVEN_BACK]
    found = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    given, before, after = found.split()
    assert given == "True"
    assert int(before) - int(after) > 60 << 20


@ON_GLIBC
@pytest.mark.parametrize("keep", [True, False])
def test_threads_share_as_many_heaps_as_there_are_cores(keep: bool) -> None:
    program = HEAPS.format(keep=keep, threads=heap.arenas() + 4)
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    heaps = found.stdout.count(b"<heap nr=")
    assert heaps <= heap.arenas() if keep else heaps > heap.arenas()


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "confstr", raising=False)
    assert not heap.give_back()
    assert heap.keep_freed_memory.__wrapped__() is False
