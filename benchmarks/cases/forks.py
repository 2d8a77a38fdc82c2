"""A fork of a session of ten tensors and 1 GB, against copying them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness
from benchmarks.side import Side

TENSORS, ELEMENTS = 10, 25_000_000
LIMIT = 0.05


def fork(elements: int) -> Callable[[], object]:
    """A session of these tensors, forked; the fork is closed as well."""
    from gradwire_service.host.host import Host
    from gradwire_service.host.limits import Limits
    from gradwire_service.host.protocol import read
    from gradwire_service.host.protocol.requests import SessionCreate, StepsRequest

    host = Host(Limits(session_bytes=2**40, server_bytes=2**40))
    session = host.create(read(SessionCreate, {}))
    steps = [{"op": "ones", "args": [[elements]], "out": f"x{i}"} for i in range(TENSORS)]
    host.run(session, read(StepsRequest, {"steps": steps}), {})
    return lambda: host.delete(host.fork(session))


def copy(elements: int) -> Callable[[], object]:
    """The same bytes as arrays, copied."""
    arrays = [np.ones(elements, np.float32) for _ in range(TENSORS)]
    return lambda: [array.copy() for array in arrays]


def figures(harness: Harness) -> Sequence[Figure]:
    """A ratio of times."""
    elements = harness.settings.sized(ELEMENTS)
    sides = {
        way: Side(f"benchmarks.cases.forks:{way}", {"elements": elements}, threads=1)
        for way in ("fork", "copy")
    }
    found = harness.take_turns(sides, rounds=min(harness.settings.rounds, 7))
    ours, theirs = found["fork"], found["copy"]
    note = f"{duration(ours.seconds)} against {duration(theirs.seconds)}"
    name = "fork of a session of ten tensors and 1 GB / copying them"
    return [Figure(name, LIMIT, ours.over(theirs), note)]
