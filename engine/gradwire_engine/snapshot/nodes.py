"""Nodes in a snapshot: the call, edges, and what was saved for the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire_engine.checkpoint import Packed
from gradwire_engine.ops.view_scatter import copy_slices
from gradwire_engine.promote import Weak
from gradwire_engine.snapshot.edges import EDGES, alike, spec_at
from gradwire_engine.snapshot.fields import listed, need, whole
from gradwire_engine.spec import Spec
from gradwire_engine.tape import ACCUMULATED, FREED, Extra, Node, Output, target
from gradwire_engine.tensor import Tensor

if TYPE_CHECKING:
    from gradwire_engine.snapshot.reader import Reader
    from gradwire_engine.snapshot.writer import Row, Writer


def write(writer: Writer, node: Node, row: Row) -> None:
    row.append(writer.calls.recipe(node.recipe))
    writer.moment(row, node.seq)
    row.append([writer.cell(edge) for edge in node.edges])
    saved: Any = node.saved
    packed = type(saved) is Packed
    row.append(writer.cell(saved) if packed else [writer.value(item) for item in saved])
    row.append(None if node.versions is None else list(node.versions))
    row.append(writer.cell(node.extra))


def read(reader: Reader, node: Node, row: Row) -> None:
    _, recipe, seq, edges, saved, versions, extra = row
    node.recipe = reader.calls.recipe(recipe)
    node.seq = reader.moment(seq)
    found = [reader.optional(edge, *EDGES) for edge in listed(edges, "edges of a node")]
    node.edges = tuple(found)
    if type(saved) is int:
        node.saved = reader.cell(saved, Packed)
    else:
        node.saved = tuple([reader.operand(item) for item in listed(saved, "what a node saved")])
    node.versions = None
    if versions is not None:
        node.versions = tuple([whole(v, "a version") for v in listed(versions, "versions")])
    node.extra = reader.optional(extra, Extra)


def check(reader: Reader, node: Node) -> None:
    """Edges lead to older nodes and fit the operands; what was saved fits the recipe."""
    recipe, name = node.recipe, node.recipe.call.name
    there = tuple(edge is not None for edge in node.edges)
    need(there == recipe.needs, f"{name} has other edges than it needs")
    for edge, spec in zip(node.edges, recipe.call.inputs, strict=True):
        if edge is not None:
            _check_edge(node, edge, spec)
    if node.extra is not None:
        _check_attached(node)
    if node.versions is None:
        need(node.saved == FREED, f"{name} was freed, and has something saved")
        return
    sizes = len(node.saved) == len(recipe.saved) == len(node.versions)
    need(sizes, f"{name} saves another number of tensors")
    if type(node.saved) is tuple:
        for item, version, place in zip(node.saved, node.versions, recipe.saved, strict=True):
            need(_fits(item, version, place, node), f"{name} saved something else than it saves")


def _check_edge(node: Node, edge: Any, spec: Any) -> None:
    name, leads_to = node.recipe.call.name, target(edge)
    if type(leads_to) is Node:
        need(leads_to.seq < node.seq, f"{name} leads to a node that isn't older than itself")
        several = not leads_to.recipe.call.single
        need(several is (type(edge) is Output), f"{name} leads to no output of a node")
    need(alike(spec_at(edge), spec), f"{name} leads to a tensor of another form")


def _check_attached(node: Node) -> None:
    count = len(node.recipe.call.outputs)
    assert node.extra is not None
    for attached in node.extra.attached:
        need(attached.output < count, f"{node.recipe.call.name} has no such output")
        need(attached.kind != ACCUMULATED, "a node has a hook for leaves")


def _fits(item: Any, version: int, place: int, node: Node) -> bool:
    """Whether a saved item is what a recipe saves at a place. A tensor that was written since then
    may have any form: no walk gets past its version.
    """
    call = node.recipe.call
    if call.op is copy_slices:
        return item is None
    many = -len(call.outputs) <= place < len(call.inputs)
    wanted = (call.outputs[~place] if place < 0 else call.inputs[place]) if many else item
    if type(item) is not Tensor:
        number = type(wanted) is Weak and type(item) is wanted.kind
        return number or wanted is item
    if item.version != version or not many or getattr(call.op, "data_dependent", False):
        return True
    return type(wanted) is Spec and item.spec == wanted
