"""The graph of a session as data: nodes with what they are, edges from operand to result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from gradwire_engine.call import Call
from gradwire_engine.spec import Spec
from gradwire_engine.tape import AccumulateGrad, Node, target
from gradwire_engine.tensor import Tensor
from gradwire_service.host.catalogue import as_json
from gradwire_service.host.picture.data import GraphData, NodeData
from gradwire_service.host.sessions import Session

Found = dict[str, Any]


def graph(session: Session, tensor: str | None = None) -> GraphData:
    """The whole graph, or with `tensor` only what leads to it; with the gradients of both."""
    roots = session.tensors.values() if tensor is None else [session.find(tensor)]
    drawing = _Drawing(session)
    drawing.follow(roots)
    for name, found in sorted(session.tensors.items()):
        if tensor is None or name == tensor or drawing.met(found):
            drawing.name(name, found)
    drawing.mark_outputs()
    return {"nodes": cast(list[NodeData], list(drawing.nodes.values())), "edges": drawing.edges}


class _Drawing:
    """Nodes by id and edges, as they are met; what is met twice stands there once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.nodes: dict[str, Found] = {}
        self.edges: list[Any] = []
        self._names = {id(t.storage): name for name, t in session.tensors.items()}
        self._keys: dict[Any, str] = {}

    def follow(self, tensors: Iterable[Tensor]) -> None:
        """Enter all that these tensors were made of, oldest first."""
        met: set[Node] = set()
        stack = [t.grad_fn for t in tensors]
        while stack:
            node = stack.pop()
            if node is None or node in met:
                continue
            met.add(node)
            stack += [e for e in map(_target, node.edges) if type(e) is Node]
        for node in sorted(met, key=lambda n: n.seq):
            self._operation(node)

    def _operation(self, node: Node) -> None:
        call = node.call
        key = self._keys[node] = f"n{node.seq}"
        self.nodes[key] = {
            **_facts("op", call.outputs[0], call.op.name),
            "id": key,
            "bytes": sum(spec.nbytes for spec in call.outputs),
            "grad_fn": node.name(),
            "step": self.session.origins.step(node.seq),
            "attributes": {k: as_json(v) for k, v in call.attributes.items()},
            "outputs": [{"dtype": s.dtype.name, "shape": list(s.shape)} for s in call.outputs],
            "saved_bytes": sum(s.spec.nbytes for s in node.held if type(s) is Tensor),
            "freed": node.freed,
        }
        saved = dict(zip(node.recipe.saved, node.held, strict=False))
        for place, operand in enumerate(_operands(call)):
            origin = self._origin(node, place, saved.get(place))
            if origin is not None:
                self.edges.append({"from": origin, "to": key, "operand": operand})

    def _origin(self, node: Node, place: int, saved: Any) -> str | None:
        """The node that an operand comes from; None for a constant that nobody kept."""
        edge = _target(node.edges[place])
        if type(edge) is Node:
            return self._keys[edge]
        spec = node.call.inputs[place]
        if type(edge) is AccumulateGrad:
            return self._made_by_none("leaf", edge, edge.leaf(), spec)
        if type(saved) is Tensor:
            return self._made_by_none("constant", saved.storage, saved, saved.spec)
        return None

    def _made_by_none(self, kind: str, place: Any, tensor: Tensor | None, spec: Spec) -> str:
        """The node of a leaf or a constant. spec: what is known of a leaf that is gone."""
        key = self._keys.get(place)
        if key is None:
            key = self._keys[place] = f"{kind[0]}{len(self._keys)}"
            name = None if tensor is None else self._names.get(id(tensor.storage))
            shape = spec if tensor is None else tensor.spec
            self.nodes[key] = {**_facts(kind, shape, name or kind), "id": key}
        return key

    def met(self, tensor: Tensor) -> bool:
        """Whether a tensor's node or storage is in the drawing."""
        edge = tensor.edge
        return (tensor.storage if edge is None else target(edge)) in self._keys

    def name(self, name: str, tensor: Tensor) -> None:
        """Give the node of a tensor its name, and show its gradient."""
        edge = tensor.edge
        found = None if edge is None else target(edge)
        if type(found) is AccumulateGrad:
            key = self._made_by_none("leaf", found, found.leaf(), tensor.spec)
        elif found is None:
            key = self._made_by_none("constant", tensor.storage, tensor, tensor.spec)
        else:
            key = self._keys[found]
        node = self.nodes[key]
        node["name"] = name if node["name"] is None else f"{node['name']}, {name}"
        if node["kind"] in ("leaf", "constant"):
            node["label"] = node["name"]
        if tensor.grad is not None and not name.endswith(".grad"):
            self._gradient(name, tensor.grad, key)

    def _gradient(self, name: str, grad: Tensor, of: str) -> None:
        key = f"g{of}"
        title = f"{name}.grad"
        self.nodes[key] = {**_facts("gradient", grad.spec, title), "id": key, "name": title}
        self.edges.append({"from": of, "to": key, "operand": "grad"})

    def mark_outputs(self) -> None:
        """A named result that nothing else was made of is an output."""
        used = {edge["from"] for edge in self.edges if edge["operand"] != "grad"}
        for key, node in self.nodes.items():
            if node["kind"] == "op" and node["name"] is not None and key not in used:
                node["kind"] = "output"


def _facts(kind: str, spec: Spec, label: str) -> Found:
    return {
        "kind": kind,
        "label": label,
        "name": None,
        "grad_fn": None,
        "shape": list(spec.shape),
        "dtype": spec.dtype.name,
        "bytes": spec.nbytes,
        "step": None,
    }


def _target(edge: Any) -> Any:
    return None if edge is None else target(edge)


def _operands(call: Call) -> Iterable[str]:
    """What each flat operand is called: its parameter's name, numbered in a list of tensors."""
    for span in call.spans:
        for place in range(span.start, span.stop):
            yield f"{span.name}[{place - span.start}]" if span.many else span.name
