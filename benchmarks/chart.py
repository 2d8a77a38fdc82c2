"""The workloads as a picture: how long each side takes, in times of torch eager's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.cases.planned import AGAINST
from benchmarks.figures import Figure
from benchmarks.report import RESULTS
from benchmarks.workloads import WORKLOADS

CHART = RESULTS.with_suffix(".png")
BASE = AGAINST["torch"]
OURS = "gradwire, planned"
_COLOURS = ("#1b6ca8", "#9aa5b1", "#e07a5f", "#81b29a", "#f2cc8f", "#6d597a")


def times(figures: Sequence[Figure]) -> dict[str, dict[str, float]]:
    """For each side its times by workload, torch eager's being 1, where both were measured.

    A figure is the plan's time by another side's, so theirs by torch's is a ratio of two figures.
    """
    ratios: dict[tuple[str, str], float] = {}
    for figure in figures:
        whole, _, other = figure.name.partition(" / ")
        kind, _, workload = whole.partition(" ")
        if kind == "planned" and workload in WORKLOADS and figure.measured is not None:
            ratios[workload, other] = figure.measured.middle
    found: dict[str, dict[str, float]] = {OURS: {}}
    for (workload, other), ratio in ratios.items():
        if (workload, BASE) in ratios:
            ours = ratios[workload, BASE]
            found[OURS][workload] = ours
            found.setdefault(other, {})[workload] = ours / ratio
    return found


def draw(figures: Sequence[Figure], path: Path = CHART) -> bool:
    """Write the picture; False where there is nothing to draw it of."""
    found = times(figures)
    if not found[OURS]:
        return False
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(11, 5), layout="constrained")
    FigureCanvasAgg(picture)
    axes = picture.add_subplot()
    _bars(axes, found)
    axes.set_yscale("log")
    axes.set_ylabel("time, torch eager's being 1")
    axes.set_title(
        "Forward and backward of whole models: what hangs down is faster than torch eager"
    )
    axes.axhline(1, color="black", linewidth=0.8)
    axes.legend(ncols=3, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    picture.savefig(path, dpi=120)
    return True


def _bars(axes: object, found: Mapping[str, Mapping[str, float]]) -> None:
    """A group of bars for each workload, which stand on torch eager's line."""
    workloads = [w for w in WORKLOADS if w in found[OURS]]
    others = [name for name in AGAINST.values() if name != BASE]  # whose bars would be the line
    sides = [OURS, *(name for name in others if name in found)]
    width = 0.8 / len(sides)
    for number, side in enumerate(sides):
        shown = [(i, found[side][w]) for i, w in enumerate(workloads) if w in found[side]]
        places = [i + (number - (len(sides) - 1) / 2) * width for i, _ in shown]
        heights = [value - 1 for _, value in shown]
        axes.bar(places, heights, width, bottom=1, label=side, color=_COLOURS[number])  # type: ignore[attr-defined]
    axes.set_xticks(range(len(workloads)), workloads)  # type: ignore[attr-defined]
