"""Which layer each node lies in: edges go down, layers stay narrow, edges short."""

from __future__ import annotations

from collections import Counter

Edge = tuple[int, int]


def layers(count: int, edges: list[Edge], widest: int) -> list[int]:
    """The layer of each of `count` nodes, 0 on top; no layer has more than `widest` nodes.

    Every node goes as far down as its consumers let it, so a leaf stands next to its first use;
    then what has fewer consumers than operands goes up again, so a result stands next to its last
    operand. What has neither stands below everything.
    """
    order = _topological(count, edges)
    before, after = neighbours(count, downward(edges, order))
    alone = [node for node in order if not before[node] and not after[node]]
    lowest = -(-len(alone) // widest)
    height = [0] * count
    for index, node in enumerate(alone):
        height[node] = lowest - 1 - index // widest
    room = Counter(height[node] for node in alone)
    for node in reversed(order):
        if not before[node] and not after[node]:
            continue
        height[node] = _free(
            room, max((height[one] + 1 for one in after[node]), default=lowest), widest
        )
        room[height[node]] += 1
    top = max(height, default=0)
    layer = [top - one for one in height]
    room = Counter(layer)
    for node in order:
        if before[node] and len(before[node]) > len(after[node]):
            level = _free(room, 1 + max(layer[one] for one in before[node]), widest)
            if level < layer[node]:
                room[layer[node]] -= 1
                room[level] += 1
                layer[node] = level
    place = {level: index for index, level in enumerate(sorted(set(layer)))}  # without gaps
    return [place[level] for level in layer]


def downward(edges: list[Edge], order: list[int]) -> list[Edge]:
    """The edges, each turned so that it follows the order; a loop's last edge is turned round."""
    rank = {node: index for index, node in enumerate(order)}
    return [(a, b) if rank[a] < rank[b] else (b, a) for a, b in edges if a != b]


def neighbours(count: int, edges: list[Edge]) -> tuple[list[list[int]], list[list[int]]]:
    """For each node those above and those below it, each once."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for a, b in dict.fromkeys(edges):
        below[a].append(b)
        above[b].append(a)
    return above, below


def _topological(count: int, edges: list[Edge]) -> list[int]:
    """Operands before results; where there is a loop, its first node comes first."""
    above, below = neighbours(count, edges)
    waiting = [len(operands) for operands in above]
    ready = [node for node in range(count) if not waiting[node]]
    order: list[int] = []
    seen = set(ready)
    unseen = iter(range(count))
    while len(order) < count:
        if not ready:
            ready.append(next(node for node in unseen if node not in seen))
            seen.add(ready[0])
        order.extend(ready)
        following = []
        for node in ready:
            for one in below[node]:
                waiting[one] -= 1
                if not waiting[one] and one not in seen:
                    seen.add(one)
                    following.append(one)
        ready = following
    return order


def _free(room: Counter[int], level: int, widest: int) -> int:
    while room[level] >= widest:
        level += 1
    return level
