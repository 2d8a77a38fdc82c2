"""Bytes, and spans of time, as a person says them."""

from __future__ import annotations

_BYTES = ("B", "KiB", "MiB", "GiB", "TiB")


def span(seconds: float) -> str:
    """Seconds, minutes or hours, as a person says it; never less than 0."""
    seconds = max(0.0, seconds)
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def size(nbytes: float) -> str:
    """Bytes in the unit that leaves few digits."""
    place = 0
    while nbytes >= 1024 and place < len(_BYTES) - 1:
        nbytes, place = nbytes / 1024, place + 1
    return f"{nbytes:.0f} {_BYTES[place]}" if not place else f"{nbytes:.1f} {_BYTES[place]}"
