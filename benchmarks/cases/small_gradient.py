"""A gradient of three numbers over REST and a stream, against the bare route and the rivals."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.exchange import STEP, STREAMED, sides
from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness

LIMITS = {
    "bare": ("the bare route with the same bytes", 1.5),
    "tesseract": ("Tesseract's VJP", 0.25),
    "umbridge": ("UM-Bridge's Gradient", 1.0),
}
_STREAM_LIMIT = 1.0


def figures(harness: Harness) -> Sequence[Figure]:
    """A ratio of times for each of the others."""
    with sides(["gradwire", STREAMED, STEP, *LIMITS], 3) as found:
        measured = harness.take_turns(found)

    def figure(ours: str, way: str, other: str, limit: float | None) -> Figure:
        one, two = measured[ours], measured[other]
        name = f"small gradient over {way} / {LIMITS[other][0]}"
        said = f"{duration(one.seconds)} against {duration(two.seconds)}"
        return Figure(name, limit, one.over(two), said)

    over_rest = [figure("gradwire", "REST", other, limit) for other, (_, limit) in LIMITS.items()]
    over_stream = figure(STREAMED, "the stream", "bare", _STREAM_LIMIT)
    return [*over_rest, over_stream, figure(STEP, "the stream as one step", "bare", None)]
