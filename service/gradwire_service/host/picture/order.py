"""The order within each layer: few crossings, by barycentres and exchanges of neighbours."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator
from itertools import pairwise
from math import inf

_SWEEPS = 24
_PATIENCE = 5
_SMALL, _TURNS = 500, 16
_EXCHANGED = 120  # wider layers get barycentres alone

Rows = list[list[int]]


def ordered(rows: Rows, above: Rows, below: Rows) -> Rows:
    """The rows with each row's vertices in an order with few crossings.

    `above` and `below` list each vertex's neighbours in the row before and the row after its own.
    """
    best, fewest = rows, inf
    for start in _starts(rows, above, below):
        found, count = _improved(start, above, below)
        if count < fewest:
            best, fewest = found, count
        if fewest == 0:
            break
    return best


def _starts(rows: Rows, above: Rows, below: Rows) -> Iterator[Rows]:
    """Orders to begin with: of small graphs several, since each can lead to a dead end."""
    total = sum(map(len, rows))
    yield _by_depth(rows, below, [v for row in rows for v in row])
    for turn in range(_TURNS if total <= _SMALL else 0):
        at = turn * total // _TURNS
        towards = above if turn % 2 else below
        if turn % 4 > 1:
            towards = [one[::-1] for one in towards]
        vertices = [v for row in rows for v in row]
        yield _by_depth(rows, towards, vertices[at:] + vertices[:at])


def _improved(rows: Rows, above: Rows, below: Rows) -> tuple[Rows, float]:
    best, fewest, patience = rows, float(crossings(rows, below)), _PATIENCE
    for sweep in range(_SWEEPS):
        rows = _sweep(rows, above, below, downward=sweep % 2 == 0)
        found = crossings(rows, below)
        patience = _PATIENCE if found < fewest else patience - 1
        if found <= fewest:  # an order as good is the better balanced one
            best, fewest = rows, found
        if patience == 0:
            break
    return best, fewest


def crossings(rows: Rows, below: Rows) -> int:
    """The number of pairs of edges that cross."""
    total = 0
    for row, following in pairwise(rows):
        place = {vertex: index for index, vertex in enumerate(following)}
        ends: list[int] = []
        for vertex in row:
            targets = sorted(place[one] for one in below[vertex])
            total += sum(len(ends) - bisect_right(ends, target) for target in targets)
            for target in targets:
                insort(ends, target)
    return total


def _by_depth(rows: Rows, towards: Rows, starts: list[int]) -> Rows:
    """What belongs together is found together, walking into the depth from each of `starts`."""
    found: dict[int, int] = {}
    for start in starts:
        walk = [start]
        while walk:
            vertex = walk.pop()
            if vertex not in found:
                found[vertex] = len(found)
                walk.extend(reversed(towards[vertex]))
    return [sorted(row, key=found.__getitem__) for row in rows]


def _sweep(rows: Rows, above: Rows, below: Rows, *, downward: bool) -> Rows:
    """Order each row by the row before it, from the top down or from the bottom up."""
    towards = above if downward else below
    result = [row[:] for row in rows]
    indices = range(1, len(rows)) if downward else range(len(rows) - 2, -1, -1)
    for index in indices:
        fixed = result[index - 1 if downward else index + 1]
        place = {vertex: float(at) for at, vertex in enumerate(fixed)}
        result[index] = _by_barycentre(result[index], towards, place)
        if len(fixed) <= _EXCHANGED and len(result[index]) <= _EXCHANGED:
            _exchange(result[index], towards, place)
    return result


def _by_barycentre(row: list[int], towards: Rows, place: dict[int, float]) -> list[int]:
    """Sort by the mean place of the neighbours; a vertex without any stays about where it is."""
    scale = len(place) / len(row)
    centre = {
        vertex: sum(place[one] for one in towards[vertex]) / len(towards[vertex])
        if towards[vertex]
        else (index + 0.5) * scale - 0.5
        for index, vertex in enumerate(row)
    }
    return sorted(row, key=centre.__getitem__)


def _exchange(row: list[int], towards: Rows, place: dict[int, float]) -> None:
    """Exchange neighbours as long as that saves crossings."""
    ends = {vertex: [place[one] for one in towards[vertex]] for vertex in row}
    for _ in range(len(row)):
        better = False
        for index in range(len(row) - 1):
            a, b = ends[row[index]], ends[row[index + 1]]
            if sum(x > y for x in a for y in b) > sum(y > x for x in a for y in b):
                row[index], row[index + 1] = row[index + 1], row[index]
                better = True
        if not better:
            return
