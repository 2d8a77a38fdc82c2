"""Value and gradient at a million float32: our binary bodies against Tesseract's base64."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.exchange import sides
from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness

COUNT = 1_000_000
ANSWERS = {
    "tesseract_base64_json": ("answered by default", 0.1),
    "tesseract_base64": ("answered as base64", None),
}
"""Ways to be answered, with the figure to reach: that was set beside the first."""


def figures(harness: Harness) -> Sequence[Figure]:
    """A ratio for each way that Tesseract answers a base64 request. It gives no value, we do."""
    count = harness.settings.sized(COUNT)
    with sides(["gradwire_binary", "bare_binary", *ANSWERS], count) as found:
        measured = harness.take_turns(found)
    ours, bare = measured["gradwire_binary"], measured["bare_binary"]
    return [
        Figure(
            f"1 M float32 value and gradient over binary / Tesseract base64, {text}",
            limit,
            ours.over(measured[question]),
            f"{duration(ours.seconds)} against {duration(measured[question].seconds)}; the bare "
            f"route with our bytes takes {duration(bare.seconds)}",
        )
        for question, (text, limit) in ANSWERS.items()
    ]
