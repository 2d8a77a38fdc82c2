"""What a session's host holds, as mirrors: tensors, graph and optimizers, by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire_engine.mode import State, local
from gradwire_engine.snapshot import Reader, read_optimizer
from gradwire_service.host.limits import Limits
from gradwire_service.host.snapshot.programs import Restored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire_engine.optim import Optimizer
    from gradwire_engine.tensor import Tensor as Meta


class Held(NamedTuple):
    """What a session's tensors and optimizers hold, by name.

    random: seed and draws of the session's random numbers.
    """

    metas: dict[str, Meta]
    optimizers: dict[str, Optimizer]
    random: Mapping[str, int]

    @classmethod
    def read(cls, text: str) -> Held:
        """The mirrors of a session's description: the graph of a snapshot, on `meta`."""
        data = json.loads(text)
        reader = _mirrored(data)
        return cls(
            {name: reader.tensor(cell) for name, cell in data["tensors"].items()},
            {name: read_optimizer(reader, found) for name, found in data["optimizers"].items()},
            {name: data["session"][name] for name in ("seed", "draws")},
        )


def _mirrored(data: dict[str, Any]) -> Reader:
    """The graph of a snapshot on `meta`, where it has no elements."""
    graph = data["graph"]
    for row in (*graph["specs"], *graph["calls"]):
        row[1] = "meta"  # the device
    before, local.state = local.state, State()
    try:
        most = Limits(programs=max(1, len(data["programs"])), steps=2**62, names=2**62)
        return Reader(graph, {}, Restored(data["programs"], most))
    finally:
        local.state = before


__all__ = ["Held"]
