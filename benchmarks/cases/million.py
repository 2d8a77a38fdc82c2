"""Value and gradient at a million float32: our binary bodies against Tesseract's base64."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.exchange import sides
from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness

COUNT = 1_000_000


def figures(harness: Harness) -> Sequence[Figure]:
    """One ratio of times. Tesseract is asked for the gradient alone, we give the value too."""
    count = harness.settings.sized(COUNT)
    with sides(["gradwire_binary", "bare_binary", "tesseract_base64"], count) as found:
        measured = harness.take_turns(found)
    ours, theirs = measured["gradwire_binary"], measured["tesseract_base64"]
    bare = measured["bare_binary"]
    note = (
        f"{duration(ours.seconds)} against {duration(theirs.seconds)}; the bare route with our "
        f"bytes takes {duration(bare.seconds)}"
    )
    name = "1 M float32 value and gradient over binary / Tesseract base64"
    return [Figure(name, 0.1, ours.over(theirs), note)]
