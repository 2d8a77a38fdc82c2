"""What the figures were measured on: the machine, its threads, the versions of both sides."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.servers import RIVALS
from benchmarks.side import OTHER_KERNELS

OURS = ("gradwire", "numpy", "scipy", "torch", "fastapi", "uvicorn", "pydantic", "httpx")
THEIRS = ("tesseract-core", "umbridge", "jax", "autograd")


def header(threads: int, load: float, peak: float) -> list[str]:
    """Lines for the top of the report, with the load averages before and at most during the run."""
    machine = (
        f"Machine: {_processor()}, {len(os.sched_getaffinity(0))} cores, {_memory()} GiB, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}."
    )
    versions = f"Versions: {', '.join(f'{n} {v}' for n, v in _versions().items())}."
    pools = (
        f"Threads: OpenBLAS and torch are limited to {threads} each where a side is one process; "
        "where a server and its client take part each has one core and one thread, and so has "
        "what it is compared with."
    )
    beside = (
        f"Load before the start: {load:.1f}, at most {peak:.1f} during the run. Much above 0.3 "
        "before, or 2 during, there was other work on these cores: it hurts threads that wait for "
        "each other, and whatever does more for each call, more than it hurts the rest."
    )
    return [machine, versions, pools, *kernels(), beside]


def kernels() -> list[str]:
    """A line where the environment says what no side gets to see."""
    dropped = [f"{name}={os.environ[name]}" for name in OTHER_KERNELS if name in os.environ]
    if not dropped:
        return []
    said = "Kernels: each library takes those that it takes for this processor by itself. The "
    return [f"{said}environment of the run had {', '.join(dropped)}, which no side was given."]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**30


def _versions() -> dict[str, str]:
    found = {}
    for name in OURS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found | _rivals()


def _rivals() -> dict[str, str]:
    python = RIVALS / "bin" / "python"
    if not python.exists():
        return dict.fromkeys(THEIRS, "not installed")
    ask = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    done = subprocess.run([python, "-c", ask, *THEIRS], capture_output=True, text=True, check=True)
    return dict(zip(THEIRS, done.stdout.split(), strict=True))
