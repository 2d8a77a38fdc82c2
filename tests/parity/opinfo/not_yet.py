"""What still differs from torch, by entry and way, and why. The full run checks that it is all.

A line leaves when its reason does: `make parity-full` fails for one that no longer holds.
"""

from __future__ import annotations

MEMORY = "a tensor shows its own elements only, not those of the memory that it is a view of"
SCATTER = "torch's gradient is not that of the function; here it is what finite differences say"
ZERO = "a norm's second derivative at 0, and of nothing: torch mixes NaN and 0, here it is 0"
WINDOW = "torch loses the gradient of a window that it pads or converts; here it has one"
TIES = "among equal elements another one is picked, which then gets the gradient"

_BY_ENTRY: dict[str, tuple[str, str]] = {
    "as_strided.partial_views": ("float64 complex128 float32 float16 bfloat16 http", MEMORY),
    "as_strided_scatter": ("float64 complex128 float32 float16 bfloat16 http", SCATTER),
    "istft": ("complex128", WINDOW),
    "linalg.norm": ("float64 complex128", ZERO),
    "linalg.norm.subgradients_at_zero": ("float64 complex128 http", ZERO),
    "mode": ("float16 bfloat16", TIES),
    "msort": ("float16 bfloat16", TIES),
    "sort": ("float16 bfloat16", TIES),
    "topk": ("bfloat16", TIES),
}

NOT_YET: dict[str, str] = {
    f"{entry} / {way}": why for entry, (ways, why) in _BY_ENTRY.items() for way in ways.split()
}
"""From "entry / way" to the reason."""
