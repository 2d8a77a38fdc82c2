"""Memory of a process that is resident, as the kernel counts it."""

from __future__ import annotations

from pathlib import Path


def status(name: str, process: int | str = "self") -> int:
    """Bytes that the kernel reports of a process, which is this one if none is named."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def peak_from_here() -> int:
    """Bytes that are resident; the peak (VmHWM) counts from here on."""
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")
