"""Everything that makes up a session, as plain values that can be compared."""

from __future__ import annotations

from typing import Any

from gradwire_engine.tape import AccumulateGrad, Node, Output
from gradwire_engine.tensor import Tensor
from gradwire_service.host.host import Host


def dump(host: Host, session_id: str) -> dict[str, Any]:
    """Names, values, gradients, versions, graph, random state and settings of a session."""
    with host.using(session_id) as session:
        nodes = _nodes([t.edge for t in session.tensors.values()])
        return {
            "names": {name: _tensor(t) for name, t in session.tensors.items()},
            "nodes": {node.seq: _node(node) for node in nodes},
            "random": (session.generator.seed, session.generator.draws),
            "settings": (session.label, session.ttl, session.meter.limit, session.device),
        }


def _tensor(tensor: Tensor, depth: int = 0) -> Any:
    return (
        id(tensor),
        tensor.spec,
        tensor.array.tobytes(),
        tensor.version,
        tensor.flags,
        _edge(tensor.edge),
        None if tensor.grad is None or depth else _tensor(tensor.grad, depth + 1),
    )


def _edge(edge: Any) -> Any:
    if type(edge) is Output:
        return ("output", edge.node.seq, edge.index)
    if type(edge) is AccumulateGrad:
        return ("leaf", id(edge.leaf()))
    return None if edge is None else ("node", edge.seq)


def _attachment(kind: str, index: int, what: Any) -> Any:
    return (kind, index, id(what()) if kind == "retain" else what)


def _node(node: Node) -> Any:
    return (
        node.name(),
        tuple(map(_edge, node.edges)),
        node.versions,
        tuple(
            (s.spec, s.array.tobytes(), s.version) if type(s) is Tensor else s for s in node.held
        ),
        [_attachment(*attached) for attached in node.extra.attached] if node.extra else [],
    )


def _nodes(edges: list[Any]) -> set[Node]:
    found: set[Node] = set()
    while edges:
        edge = edges.pop()
        node = edge.node if type(edge) is Output else edge
        if type(node) is Node and node not in found:
            found.add(node)
            edges += node.edges
    return found
