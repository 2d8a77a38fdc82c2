"""A plan as a graph to draw: inputs, what runs as one with its sizes, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from gradwire_engine.spec import DTYPES
from gradwire_service.host.picture.data import EdgeData, GraphData, Kind, NodeData

_STEPS = ("", "k", "M", "G", "T", "P")
Shown = Mapping[str, Any]
Source = str | tuple[int, int]
"""An input, or a region and which of its outputs."""


def plan_graph(plan: Shown, inputs: Mapping[str, Shown]) -> GraphData:
    """The graph of what `plan` answered for inputs of these dtypes and shapes.

    Views aren't drawn: they take nothing.
    """
    drawing = _Drawing(plan["regions"], inputs)
    for place, region in enumerate(plan["regions"]):
        if region["how"] != "view":
            drawing.region(place, region)
    for place, region in enumerate(plan["regions"]):
        for name, output in region["gives"].items():
            drawing.result(name, (place, output), region["outputs"][output])
    return {"nodes": [*drawing.nodes.values()], "edges": drawing.edges}


class _Drawing:
    """Nodes by id, and edges."""

    def __init__(self, regions: list[Any], inputs: Mapping[str, Shown]) -> None:
        self._regions, self._inputs = regions, inputs
        self.nodes: dict[str, NodeData] = {}
        self.edges: list[EdgeData] = []
        self._behind: list[list[Source]] = []  # of views, where what they show comes from
        for region in regions:
            reads = map(_source, region["reads"]) if region["how"] == "view" else ()
            self._behind.append([source for read in reads for source in self._sources(read)])

    def region(self, place: int, region: Shown) -> None:
        """What runs as one; below its ops stands what it takes."""
        first, *_ = outputs = region["outputs"]
        kind: Kind = "op" if region["shape"] is None else "region"
        title = " · ".join(name.rpartition(".")[2] for name in region["ops"])
        if region["how"] == "loop":
            kind, title = "region", f"{title} × {region['times']:,}"
        takes = f"{_many(region['flops'])}FLOP, {_many(region['bytes_moved'])}B"
        size = {"dtype": first["dtype"], "shape": region["shape"] or first["shape"]}
        node = self._node(f"r{place}", kind, title, takes, size)
        node["bytes"] = sum(map(_nbytes, outputs))
        read = [source for r in region["reads"] for source in self._sources(_source(r))]
        self._edges(read, f"r{place}")

    def result(self, name: str, source: Source, spec: Shown) -> None:
        """An output, or a part of a derivative."""
        self._node(f"out {name}", "output", name, None, spec)
        self._edges(self._sources(source), f"out {name}")

    def _edges(self, sources: list[Source], end: str) -> None:
        for source in dict.fromkeys(sources):
            if isinstance(source, str):
                if f"in {source}" not in self.nodes:
                    self._node(f"in {source}", "leaf", source, None, self._inputs[source])
                self.edges.append({"from": f"in {source}", "to": end, "operand": source})
            else:
                spec = self._regions[source[0]]["outputs"][source[1]]
                shown = f"{spec['shape']} {spec['dtype']}"
                self.edges.append({"from": f"r{source[0]}", "to": end, "operand": shown})

    def _sources(self, read: Source) -> list[Source]:
        """Where a value comes from, past views."""
        if isinstance(read, str) or self._regions[read[0]]["how"] != "view":
            return [read]
        return self._behind[read[0]]

    def _node(self, key: str, kind: Kind, label: str, name: str | None, spec: Shown) -> NodeData:
        made = self.nodes[key] = NodeData(
            id=key,
            kind=kind,
            label=label,
            name=name,
            grad_fn=None,
            shape=list(spec["shape"]),
            dtype=spec["dtype"],
            bytes=_nbytes(spec),
            step=None,
        )
        return made


def _source(read: Any) -> Source:
    """What is read, which JSON has as a list."""
    return read if isinstance(read, str) else (read[0], read[1])


def _nbytes(spec: Shown) -> int:
    return prod(spec["shape"]) * DTYPES[spec["dtype"]].itemsize


def _many(count: float) -> str:
    """A count with the sign for its thousands: `33.6 M`."""
    sign = 0
    while count >= 1000 and sign < len(_STEPS) - 1:
        count, sign = count / 1000, sign + 1
    return f"{count:.3g} {_STEPS[sign]}"
