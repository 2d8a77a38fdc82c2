"""A line search that ends where the strong Wolfe conditions hold.

Nocedal and Wright, Numerical Optimization (2006), algorithms 3.5 and 3.6, with cubic steps. Written
as a generator: it yields step lengths and is sent the loss, the gradient and the slope there.
"""

from __future__ import annotations

from collections.abc import Generator
from math import sqrt
from typing import Any, NamedTuple

ENOUGH, CURVE = 1e-4, 0.9
"""c₁ and c₂ of the conditions."""


class Point(NamedTuple):
    """A step length, with loss, gradient and slope there."""

    t: float
    loss: float
    gradient: Any
    slope: float


Search = Generator[float, Point, tuple[Point, int]]


def search(start: Point, t: float, reach: float, smallest: float, most: int) -> Search:
    """From a point, first at step length t; gives the point it ends at and how many were tried.

    reach: the largest element of the direction. smallest: a bracket that moves no element further
    than this is small enough. most: how many are tried after the first.
    """
    low, high, tried, found = yield from _bracket(start, t, most)
    if found:
        return low, tried
    if high is None:  # never bracketed: between the start and the last point
        new = low
        return (start, tried) if start.loss <= new.loss else (new, tried)
    low, tried = yield from _zoom(start, low, high, tried, reach, smallest, most)
    return low, tried


def _bracket(
    start: Point, t: float, most: int
) -> Generator[float, Point, tuple[Point, Point | None, int, bool]]:
    """Longer steps, until two enclose a good one, or one is good: (a, b, tried, good)."""
    previous, new = start, (yield t)
    for tries in range(most):
        rises = new.loss > start.loss + ENOUGH * new.t * start.slope
        if rises or (tries > 1 and new.loss >= previous.loss):
            return previous, new, tries + 1, False
        if abs(new.slope) <= -CURVE * start.slope:
            return new, None, tries + 1, True
        if new.slope >= 0:
            return previous, new, tries + 1, False
        least, furthest = new.t + 0.01 * (new.t - previous.t), new.t * 10
        t = cubic(previous, new, least, furthest)
        previous, new = new, (yield t)
    return new, None, most + 1, False


def _zoom(
    start: Point, a: Point, b: Point, tried: int, reach: float, smallest: float, most: int
) -> Generator[float, Point, tuple[Point, int]]:
    """A bracket made smaller around its better end."""
    ends = [a, b]
    better = 0 if a.loss <= b.loss else 1
    stuck = False
    while tried <= most and abs(ends[1].t - ends[0].t) * reach >= smallest:
        low, high = sorted(end.t for end in ends)
        t, stuck = _inside(cubic(ends[0], ends[1], low, high), low, high, stuck)
        new = yield t
        tried += 1
        rises = new.loss > start.loss + ENOUGH * new.t * start.slope
        if rises or new.loss >= ends[better].loss:
            ends[1 - better] = new
            better = 0 if ends[0].loss <= ends[1].loss else 1
            continue
        good = abs(new.slope) <= -CURVE * start.slope
        if not good and new.slope * (ends[1 - better].t - ends[better].t) >= 0:
            ends[1 - better] = ends[better]
        ends[better] = new
        if good:
            break
    return ends[better], tried


def _inside(t: float, low: float, high: float, stuck: bool) -> tuple[float, bool]:
    """A step kept off the bracket's ends where it was near one before, or is beyond."""
    margin = 0.1 * (high - low)
    if min(high - t, t - low) >= margin:
        return t, False
    if stuck or t >= high or t <= low:
        return (high - margin if abs(t - high) < abs(t - low) else low + margin), False
    return t, True


def cubic(a: Point, b: Point, least: float, most: float) -> float:
    """Where the cubic through two points with their slopes is least, within bounds."""
    d = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d * d - a.slope * b.slope
    if not square >= 0:
        return (least + most) / 2
    first, last = (a, b) if a.t <= b.t else (b, a)
    root = sqrt(square)
    bend = last.slope - first.slope + 2 * root
    if not bend:
        return (least + most) / 2
    t = last.t - (last.t - first.t) * (last.slope + root - d) / bend
    return min(max(t, least), most)
