"""How the C library's heap treats the arrays of a model's step: freed memory is kept for the next.

By default glibc maps every large array anew and gives freed memory back at once, so that each step
pays for the same pages again: the kernel clears them one by one, at the first touch.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

from gradwire_engine.kernels.cores import cores

LARGEST = 32 << 20
"""Bytes of an array from which on it is mapped by itself, and given back when it is freed."""

KEPT = 64 << 20
"""Freed bytes at the end of a heap that are kept for the next step; more is given back."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # M_… of malloc.h
_SET_BY_USER = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_ARENA_MAX")


@cache
def keep_freed_memory() -> bool:
    """Set this for the process, once; whether it could be: only glibc's heap has such settings.

    What the environment says of these settings stays in force.
    """
    if not _glibc() or any(name in os.environ for name in _SET_BY_USER):
        return False
    if "glibc.malloc." in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    settings = {_MMAP_THRESHOLD: LARGEST, _TRIM_THRESHOLD: KEPT, _ARENA_MAX: arenas()}
    return all(mallopt(name, value) for name, value in settings.items())


def give_back() -> bool:
    """Give the pages that are free now back to the system, wherever they lie; whether any were.

    What is kept for the next step is as much as the largest crowd of them took: for a process that
    runs for days, to be called every now and then. Only glibc's heap can; others do by themselves.
    """
    if not _glibc():
        return False
    try:
        return bool(ctypes.CDLL(None).malloc_trim(0))
    except (OSError, AttributeError):
        return False


def arenas() -> int:
    """Heaps that threads share: one to a core, since each keeps freed memory; two at least."""
    return max(2, cores())


def _glibc() -> bool:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (AttributeError, ValueError, OSError):
        return False
