"""Edges of the graph in a snapshot, and what is attached to nodes and leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from gradwire_engine.snapshot.fields import at, listed, need, text, whole
from gradwire_engine.spec import Spec
from gradwire_engine.tape import (
    ACCUMULATED,
    AFTER,
    BEFORE,
    RETAIN,
    TENSOR,
    AccumulateGrad,
    Attachment,
    Edge,
    Extra,
    Node,
    Output,
    target,
)
from gradwire_engine.tensor import Tensor

if TYPE_CHECKING:
    from gradwire_engine.snapshot.reader import Reader
    from gradwire_engine.snapshot.writer import Row, Writer

EDGES = (Node, Output, AccumulateGrad)
_ATTACHED = [RETAIN, TENSOR, BEFORE, AFTER, ACCUMULATED]


def _gone() -> ref[Tensor]:
    """A reference to a tensor that is no more."""
    return ref(object.__new__(Tensor))


def spec_at(edge: Edge) -> Spec | None:
    """The form of gradients that come here; None where only a run can say."""
    node = target(edge)
    if type(node) is Node:
        call = node.recipe.call
        if getattr(call.op, "data_dependent", False):
            return None
        return at(call.outputs, edge.index if type(edge) is Output else 0, "an output")
    leaf = node.leaf()  # type: ignore[union-attr]
    return None if leaf is None else leaf.spec


def alike(found: Spec | None, spec: Spec) -> bool:
    """Whether gradients of one form can be those of the other; None could be any.

    They are the same, but for axes: a tensor may have been transposed in place since, unrecorded.
    """
    if found is None or found == spec:
        return True
    same = found.dtype is spec.dtype and found.device == spec.device
    return same and _longer(found) == _longer(spec)


def _longer(spec: Spec) -> list[int]:
    return sorted(size for size in spec.shape if size != 1)


def write_output(writer: Writer, edge: Output, row: Row) -> None:
    row += [writer.cell(edge.node), edge.index]


def read_output(reader: Reader, edge: Output, row: Row) -> None:
    edge.node, edge.index = reader.cell(row[1], Node), whole(row[2], "an output's number")


def check_output(reader: Reader, edge: Output) -> None:
    """It is one of several outputs of its node."""
    call = edge.node.recipe.call
    need(not call.single and edge.index < len(call.outputs), f"{call.name} has no such output")


def write_leaf(writer: Writer, edge: AccumulateGrad, row: Row) -> None:
    writer.weak(row, edge.leaf)
    row += [writer.cell(edge.extra), None if edge.spec is None else writer.calls.spec(edge.spec)]
    writer.weak(row, edge.grad or _gone())


def read_leaf(reader: Reader, edge: AccumulateGrad, row: Row) -> None:
    leaf, grad = reader.optional(row[1], Tensor), reader.optional(row[4], Tensor)
    edge.leaf = _gone() if leaf is None else ref(leaf)
    edge.extra = reader.optional(row[2], Extra)
    edge.spec = None if row[3] is None else reader.calls.spec(row[3])
    edge.grad = None if grad is None else ref(grad)
    edge.seq = 0


def check_leaf(reader: Reader, edge: AccumulateGrad) -> None:
    """A gradient that is known by a name alone has the form of those that arrive."""
    grad = None if edge.grad is None else edge.grad()
    fits = grad is None or (edge.spec is not None and alike(grad.spec, edge.spec))
    need(fits, "a gradient has not the form of its leaf")


def write_extra(writer: Writer, extra: Extra, row: Row) -> None:
    row += [extra.label, [_attachment(writer, attached) for attached in extra.attached]]
    row.append(extra.listed)
    row.append(None if extra.origin is None else [writer.cell(extra.origin[0]), extra.origin[1]])


def _attachment(writer: Writer, attached: Attachment) -> Row:
    row: Row = [_ATTACHED.index(attached.kind), attached.output]
    if attached.kind == RETAIN:
        writer.weak(row, attached.what)
    else:
        row.append(writer.program(attached.what))
    return row


def read_extra(reader: Reader, extra: Extra, row: Row) -> None:
    extra.label = None if row[1] is None else text(row[1], "the name of a node")
    extra.attached = tuple([_read_attachment(reader, a) for a in listed(row[2], "attachments")])
    need(type(row[3]) is bool, "whether a list of hooks is there is no truth value")
    extra.listed = row[3]
    extra.origin, extra.heir = None, getattr(extra, "heir", None)
    if row[4] is not None:
        older, output = listed(row[4], "where hooks hung before", 2)
        extra.origin = (reader.cell(older, Extra), whole(output, "an output's number"))
        if extra.listed:  # a leaf's
            extra.origin[0].heir = ref(extra)


def check_extra(reader: Reader, extra: Extra) -> None:
    """Hooks that a leaf took along are the same that hang where they hung before."""
    if extra.origin is not None:
        older = {(a.kind, a.output, id(a.what)): a for a in extra.origin[0].attached}
        extra.attached = tuple([older.get((*a[:2], id(a.what)), a) for a in extra.attached])


def _read_attachment(reader: Reader, row: Any) -> Attachment:
    number, output, what = listed(row, "an attachment", 3)
    kind = at(_ATTACHED, number, "the kind of an attachment")
    output = whole(output, "an output's number")
    if kind != RETAIN:
        return Attachment(kind, output, reader.program(what))
    tensor = reader.optional(what, Tensor)
    return Attachment(kind, output, _gone() if tensor is None else ref(tensor))
