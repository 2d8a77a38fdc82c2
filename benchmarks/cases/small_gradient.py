"""A gradient of three numbers over REST, against the bare route and the rivals."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.exchange import sides
from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness

LIMITS = {
    "bare": ("the bare route with the same bytes", 1.5),
    "tesseract": ("Tesseract's VJP", 0.25),
    "umbridge": ("UM-Bridge's Gradient", 1.0),
}


def figures(harness: Harness) -> Sequence[Figure]:
    """A ratio of times for each of the others."""
    with sides(["gradwire", *LIMITS], 3) as found:
        measured = harness.take_turns(found)
    ours = measured["gradwire"]
    return [
        Figure(
            f"small gradient over REST / {text}",
            limit,
            ours.over(measured[other]),
            f"{duration(ours.seconds)} against {duration(measured[other].seconds)}",
        )
        for other, (text, limit) in LIMITS.items()
    ]
