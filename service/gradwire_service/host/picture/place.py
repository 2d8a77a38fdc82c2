"""Where the vertices of each row stand: near their neighbours, never nearer than they may."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf

_SMALL, _SWEEPS, _MORE = 1_000, 24, 80
_STIFF, _SOFT, _FREE = 400.0, 1.0, 0.01

Rows = list[list[int]]


def placed(rows: Rows, above: Rows, below: Rows, width: list[float], trunks: Rows) -> list[float]:
    """The x of each vertex's centre; `trunks` are the points that long edges pass through.

    Each row in turn is placed where the sum of squared distances to its neighbours is least, under
    the widths, long edges being stiff; then what can stand in one line, with room, does.
    """
    bends = {vertex for trunk in trunks for vertex in trunk}
    x = [0.0] * len(width)
    for row in rows:
        spots = _offsets(row, width)
        for vertex, spot in zip(row, spots, strict=True):
            x[vertex] = spot - (spots[-1] + spots[0]) / 2
    sweeps = _MORE if len(width) <= _SMALL else _SWEEPS
    for sweep in range(sweeps):
        last = sweep >= sweeps - 2
        for row in rows if sweep % 2 == 0 else reversed(rows):
            near = [
                above[v] + below[v] if last else above[v] if sweep % 2 == 0 else below[v]
                for v in row
            ]
            _settle(row, near, x, width, bends)
    sides = _sides(rows)
    for line in [*trunks, *_lines(above, below, bends)]:
        _straighten(line, sides, x, width)
    _centre_alone(rows, above, below, x)
    left = min((x[v] - width[v] / 2 for row in rows for v in row), default=0.0)
    return [value - left for value in x]


def _settle(
    row: list[int], near: list[list[int]], x: list[float], width: list[float], bends: set[int]
) -> None:
    offsets = _offsets(row, width)
    free, weights = [], []
    for vertex, others, offset in zip(row, near, offsets, strict=True):
        pull = [_STIFF if vertex in bends and one in bends else _SOFT for one in others]
        sums = sum(p * x[one] for p, one in zip(pull, others, strict=True))
        free.append((sums / sum(pull) if pull else x[vertex]) - offset)
        weights.append(sum(pull) or _FREE)
    for vertex, value, offset in zip(row, ascending(free, weights), offsets, strict=True):
        x[vertex] = value + offset


def _lines(above: Rows, below: Rows, bends: set[int]) -> Rows:
    """Nodes that follow one another with nothing else before or after, from top to bottom."""

    def only(vertex: int, near: Rows, back: Rows) -> int | None:
        one = near[vertex][0] if len(near[vertex]) == 1 else None
        return one if one is not None and one not in bends and len(back[one]) == 1 else None

    lines = []
    for vertex in range(len(above)):
        if vertex in bends or only(vertex, above, below) is not None:
            continue
        line = [vertex]
        while (following := only(line[-1], below, above)) is not None:
            line.append(following)
        lines.append(line)
    return lines


def _sides(rows: Rows) -> dict[int, tuple[int | None, int | None]]:
    """The vertices to the left and to the right of each."""
    sides: dict[int, tuple[int | None, int | None]] = {}
    for row in rows:
        padded = [None, *row, None]
        sides.update(zip(row, zip(padded, padded[2:], strict=False), strict=True))
    return sides


def _straighten(
    line: list[int],
    sides: dict[int, tuple[int | None, int | None]],
    x: list[float],
    width: list[float],
) -> None:
    """Put a line's vertices at one x, where their rows leave room for that."""
    low, high = -inf, inf
    for vertex in line:
        left, right = sides[vertex]
        if left is not None:
            low = max(low, x[left] + (width[left] + width[vertex]) / 2)
        if right is not None:
            high = min(high, x[right] - (width[right] + width[vertex]) / 2)
    if low <= high:
        mean = sum(x[vertex] for vertex in line) / len(line)
        for vertex in line:
            x[vertex] = min(max(mean, low), high)


def _centre_alone(rows: Rows, above: Rows, below: Rows, x: list[float]) -> None:
    """Centre rows that nothing is joined to under the others."""
    alone = [row for row in rows if not any(above[v] or below[v] for v in row)]
    others = [x[v] for row in rows if row not in alone for v in row]
    for row in alone if others else []:
        shift = (min(others) + max(others)) / 2 - (x[row[0]] + x[row[-1]]) / 2
        for vertex in row:
            x[vertex] += shift


def _offsets(row: list[int], width: list[float]) -> list[float]:
    """The centres of a row whose vertices touch, the first at 0."""
    offsets = [0.0]
    for left, right in pairwise(row):
        offsets.append(offsets[-1] + (width[left] + width[right]) / 2)
    return offsets


def ascending(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The ascending numbers nearest to `values` in weighted squares, by pooling neighbours."""
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many
    for value, weight in zip(values, weights, strict=True):
        mean, total, count = value, weight, 1
        while pools and pools[-1][0] > mean:
            other, more, many = pools.pop()
            mean = (mean * total + other * more) / (total + more)
            total, count = total + more, count + many
        pools.append((mean, total, count))
    return [mean for mean, _, count in pools for _ in range(count)]
