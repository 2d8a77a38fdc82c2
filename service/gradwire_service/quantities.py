"""Bytes, and spans of time, as a person says them."""

from __future__ import annotations

from collections.abc import Sequence

_BYTES = ("B", "KiB", "MiB", "GiB", "TiB")


def span(seconds: float) -> str:
    """Seconds, minutes or hours, as a person says it; never less than 0."""
    seconds = max(0.0, seconds)
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def size(nbytes: float) -> str:
    """Bytes in the unit that leaves few digits."""
    count, unit = scaled(nbytes, 1024, _BYTES)
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"


def scaled(count: float, step: int, units: Sequence[str]) -> tuple[float, str]:
    """A count in the largest of these units that it is at least one of, and that unit."""
    place = 0
    while count >= step and place < len(units) - 1:
        count, place = count / step, place + 1
    return count, units[place]
