"""The pages that a large library's code takes in memory after it was run."""

from __future__ import annotations

import ctypes
import mmap
import sys
from pathlib import Path

_MAPS = Path("/proc/self/maps")


def let_go_of_code(library: str) -> int:
    """Have the kernel unmap a library's code until it is run again; bytes of address space.

    library: the beginning of its file's name. A compiler that works for some milliseconds leaves
    tens of MiB resident, which the kernel has in its cache of files anyway. Code is mapped as the
    file has it, so nothing is lost, and a thread that runs it meanwhile has it mapped anew. Only
    Linux says where it lies.
    """
    if not sys.platform.startswith("linux"):
        return 0
    try:
        lines = _MAPS.read_text().splitlines()
        madvise = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return 0
    madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    found = 0
    for start, stop in filter(None, (_code(line, library) for line in lines)):
        if madvise(start, stop - start, mmap.MADV_DONTNEED) == 0:
            found += stop - start
    return found


def _code(line: str, library: str) -> tuple[int, int] | None:
    """From where to where a line of the kernel's says that code of the library lies.

    What may be written to, or once was, as tables of addresses are, is not code: it would be lost.
    """
    fields = line.split(maxsplit=5)
    if len(fields) < 6 or fields[1] != "r-xp" or not Path(fields[5]).name.startswith(library):
        return None
    start, stop = (int(address, 16) for address in fields[0].split("-"))
    return start, stop
