"""Forks: a second set of cells over shared arrays.

Cells are what changes: tensors, storages, nodes, edges of leaves. Arrays are never written while
two storages hold them (see inplace.py), so a fork shares all of them and costs what its cells cost,
whatever the arrays' sizes. Specs and calls never change and are shared too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from gradwire_engine.checkpoint import Packed, Region
from gradwire_engine.tape import (
    RETAIN,
    AccumulateGrad,
    Attachment,
    Bound,
    Extra,
    Handle,
    Node,
    Output,
)
from gradwire_engine.tensor import Storage, Tensor, View


def fork(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors, gradients and graph once more; what one side does the other never sees."""
    return fork_all(tensors)[0]


def fork_all(*groups: dict[str, Any]) -> list[dict[str, Any]]:
    """The same for several dictionaries at once, of tensors and of what else is a cell here."""
    copies = _Copies()
    found = [{name: copies.of(cell) for name, cell in group.items()} for group in groups]
    copies.finish()
    return found


class _Copies:
    """Each cell's copy by the cell's identity: made empty when first met, filled in later.

    So chains of any length are copied without recursion.
    """

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}
        self.attachments: dict[int, Attachment] = {}
        self.waiting: list[tuple[Any, Any]] = []
        self.held: list[Any] = []  # cells met by a weak reference: alive until all is done

    def of(self, cell: Any) -> Any:
        """The copy of a cell; what is no cell is its own."""
        if type(cell) not in _FILL:
            return cell
        found = self.made.get(id(cell))
        if found is None:
            found = self.made[id(cell)] = object.__new__(type(cell))
            self.waiting.append((cell, found))
        return found

    def attachment(self, old: Attachment) -> Attachment:
        """The copy of an attachment, the same one each time: handles find theirs by identity."""
        found = self.attachments.get(id(old))
        if found is None:
            what = self.weak(old.what) if old.kind == RETAIN else self.of(old.what)
            found = self.attachments[id(old)] = old._replace(what=what)
        return found

    def finish(self) -> None:
        """Fill in copies until none waits."""
        waiting = self.waiting
        while waiting:
            old, new = waiting.pop()
            _FILL[type(old)](self, old, new)

    def weak(self, reference: ref[Any]) -> ref[Any]:
        """A weak reference to the copy of what another one refers to; a dead one stays dead."""
        cell = reference()
        if cell is None:
            return reference
        self.held.append(cell)
        return ref(self.of(cell))


def _tensor(copies: _Copies, old: Tensor, new: Tensor) -> None:
    new._array = old._array
    new._storage = copies.of(old._storage)
    new._edge = copies.of(old._edge)
    new.flags, new.spec = old.flags, old.spec
    new.grad = copies.of(old.grad)
    new.view = copies.of(old.view)
    if old.frozen_edge is not None:
        new.freeze_edge(copies.of(old.frozen_edge))


def _storage(copies: _Copies, old: Storage, new: Storage) -> None:
    new.array, new.version, new.newest = old.array, old.version, old.newest
    new.made_in = new.kept_in = None


def _view(copies: _Copies, old: View, new: View) -> None:
    new.base = copies.of(old.base)
    new.chain, new.depth, new.back = old.chain, old.depth, old.back
    new.creation, new.version = old.creation, old.version
    new.array, new.source = old.array, old.source


def _node(copies: _Copies, old: Node, new: Node) -> None:
    new.recipe, new.seq = old.recipe, old.seq
    new.edges = tuple([copies.of(edge) for edge in old.edges])
    if type(old.saved) is Packed:
        new.saved = copies.of(old.saved)
    else:
        new.saved = tuple([copies.of(item) for item in old.saved])
    new.versions = old.versions
    new.extra = copies.of(old.extra)


def _extra(copies: _Copies, old: Extra, new: Extra) -> None:
    new.label, new.listed = old.label, old.listed
    new.attached = tuple([copies.attachment(item) for item in old.attached])
    new.heir = None if old.heir is None else copies.weak(old.heir)
    new.origin = None if old.origin is None else (copies.of(old.origin[0]), old.origin[1])


def _bound(copies: _Copies, old: Bound, new: Bound) -> None:
    new.program = old.program
    new.values = tuple([copies.of(value) for value in old.values])


def _handle(copies: _Copies, old: Handle, new: Handle) -> None:
    new.extra, new.attachment = copies.weak(old.extra), copies.attachment(old.attachment)


def _packed(copies: _Copies, old: Packed, new: Packed) -> None:
    new.region, new.number, new.size = copies.of(old.region), old.number, old.size


def _region(copies: _Copies, old: Region, new: Region) -> None:
    new.program, new.recipes = old.program, old.recipes
    new.args = tuple([copies.of(arg) for arg in old.args])
    new.versions, new.draws = old.versions, old.draws
    new.start, new.end = old.start, old.end


def _output(copies: _Copies, old: Output, new: Output) -> None:
    new.node, new.index = copies.of(old.node), old.index


def _accumulate(copies: _Copies, old: AccumulateGrad, new: AccumulateGrad) -> None:
    new.leaf, new.seq = copies.weak(old.leaf), old.seq
    new.extra, new.spec = copies.of(old.extra), old.spec
    new.grad = None if old.grad is None else copies.weak(old.grad)


_FILL: dict[type, Callable[[_Copies, Any, Any], None]] = {
    Tensor: _tensor,
    Storage: _storage,
    View: _view,
    Node: _node,
    Extra: _extra,
    Bound: _bound,
    Handle: _handle,
    Packed: _packed,
    Region: _region,
    Output: _output,
    AccumulateGrad: _accumulate,
}
"""How each kind of cell is copied: every slot of its own."""
