"""Tensors: a storage that views share, a spec, an edge into the graph.

Arrays are not written while anything else can see them: an in-place op swaps a fresh array into the
storage. So undoing is swapping back, and a fork or a reply in flight keeps what it holds.
"""

from __future__ import annotations

import gc
import sys
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from gradwire_engine.arrays import backend
from gradwire_engine.call import Call, follow
from gradwire_engine.errors import error
from gradwire_engine.journal import assign
from gradwire_engine.mode import local
from gradwire_engine.op import APPLY, PRIMITIVES
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.spec import Spec, Value, dtype_of
from gradwire_engine.tape import RETAIN, AccumulateGrad, Edge, Node, Output, place, target

INFERENCE = 1
"""Flag of a tensor made in inference mode."""
RETAINS = 2
"""Flag of a non-leaf that keeps its gradient."""
VIEW = 4
"""Flag of a tensor that sees a storage through views."""
DETACHED = 16
"""Flag of a tensor that lost its history in place: what was saved of it before can't be used."""
COUNTED = 8
"""Flag of an inference tensor that was detached outside inference mode: its writes are counted
from there, so torch lets it be written."""
TURNED = 32
"""Flag of a tensor with axes that is not row-major: what is made of it may lie otherwise too."""
OWN = 64
"""Flag of what an in-place op sees of an inference tensor: its own, which it may well save."""
WRITES = 128
"""From this bit on the flags of a tensor that is COUNTED count the writes through it."""


class Storage:
    """The array that a tensor and all its views share, and how often it was written.

    made_in: the transaction that the array was made in, for which it may be written again.
    kept_in: the transaction whose journal has what stood in a part that was written. newest: the
    largest version that was taken back.
    """

    __slots__ = ("__weakref__", "array", "kept_in", "made_in", "newest", "version")

    def __init__(self, array: Any, version: int = 0) -> None:
        self.array = array
        self.version = version
        self.newest = 0
        self.made_in: object = None
        self.kept_in: object = None

    @property
    def nbytes(self) -> int:
        return int(self.array.nbytes)

    @property
    def next_version(self) -> int:
        """The version after the next write: none that was taken back, which a graph may know."""
        return max(self.version, self.newest) + 1


LONG_CHAIN = 64
"""Calls from a base to a view from which on the list of them is worth counting as memory."""


class View:
    """How a view hangs on its storage.

    chain: calls that lead from the storage's array to the view's, each with an output index.
    base: the tensor whose history a write through this view rewrites; None after detach.
    depth: how much of the chain belongs to the base. creation: see inplace.py.
    version: the storage's version that the tensor's own edge belongs to.
    back: of a tensor that changed its form in place, calls that undo that, newest first.
    """

    __slots__ = ("array", "back", "base", "chain", "creation", "depth", "source", "version")

    def __init__(
        self,
        chain: tuple[tuple[Call, int], ...],
        base: Tensor | None,
        creation: str,
        version: int,
        depth: int | None = None,
    ) -> None:
        self.chain = chain
        self.base = base
        if depth is None:
            depth = 0 if base is None or base.view is None else len(base.view.chain)
        self.depth = depth
        self.creation = creation
        self.version = version
        self.back: tuple[tuple[Call, int], ...] = ()
        self.source: Any = None
        self.array: Any = None

    def read(self, source: Any) -> Any:
        """The view's array over the storage's present one."""
        if self.source is not source:
            self.array, self.source = follow(self.chain, source), source
        return self.array

    def way(self, base: Tensor) -> tuple[tuple[Call, int], ...]:
        """The calls that lead here from the base, in the form that it has now."""
        own = self.chain[self.depth :]
        since = 0 if base.view is None else len(base.view.chain) - self.depth
        return (*base.view.back[:since], *own) if base.view is not None and since else own

    def forget_old(self, source: Any) -> None:
        """Let go of an array that the storage has no more."""
        if self.source is not source:
            self.array = self.source = None


class Tensor(Value):
    """A tensor of the engine. `_edge` is where it was made: None, a leaf's edge, or a node's."""

    __slots__ = ("__weakref__", "_array", "_edge", "_storage", "flags", "grad", "spec", "view")

    spec: Spec
    level = 0  # no transform wraps it

    def __init__(self, array: Any, spec: Spec, edge: Edge | None) -> None:
        self._array = array  # until somebody asks for the storage
        self._storage: Storage | None = None
        self.spec = spec
        self._edge = edge
        self.view: View | None = None
        self.grad: Tensor | None = None
        self.flags = 0

    @classmethod
    def of(cls, array: Any, requires_grad: bool = False, device: str = "cpu") -> Tensor:
        """A leaf over this array, which it takes over without a copy; NumPy's go to the device."""
        if isinstance(array, (np.ndarray, np.generic)) and device != "cpu":
            array = backend(device).from_numpy(np.asarray(array))
        elif isinstance(array, np.generic):
            array = np.asarray(array)
        spec = Spec(tuple(array.shape), dtype_of(array.dtype), device)
        made = cls(array, spec, None).marked().in_mode()
        if requires_grad and spec.dtype.differentiable:
            made._edge = AccumulateGrad(made)
        elif requires_grad:
            made.requires_grad_()  # refuses it
        return made

    # what it is

    @classmethod
    def sharing(cls, storage: Storage, spec: Spec, edge: Edge | None, view: View | None) -> Tensor:
        """A tensor over a storage that others use too."""
        made = cls(None, spec, edge)
        made._storage = storage
        if view is not None:
            made.view = view
            made.flags = VIEW
        return made

    def marked(self) -> Tensor:
        """Itself, a new tensor, with the flag of one that is not row-major."""
        if len(self.spec.shape) > 1 and not self.array.flags.c_contiguous:
            self.flags |= TURNED
        return self

    def in_mode(self) -> Tensor:
        """Itself, a new tensor, with the flag of inference mode where that is on."""
        if local.state.inference:
            self.flags |= INFERENCE
        return self

    @property
    def storage(self) -> Storage:
        """What views share; made when first asked for, since most tensors never need it."""
        found = self._storage
        if found is None:
            found = self._storage = Storage(self._array)
            self._array = None
        return found

    @property
    def array(self) -> Any:
        """The elements, as an array of the backend; not to be written."""
        storage = self._storage
        if storage is None:
            return self._array
        return storage.array if self.view is None else self.view.read(storage.array)

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, an axis each."""
        return tuple(self.array.strides)

    @property
    def version(self) -> int:
        """How often the storage was written; views share it."""
        return 0 if self._storage is None else self._storage.version

    @property
    def is_inference(self) -> bool:
        return bool(self.flags & INFERENCE)

    @property
    def counts_writes(self) -> bool:
        """Whether there is a count of its writes to be shown."""
        return not self.flags & INFERENCE or bool(self.flags & COUNTED)

    @property
    def writes(self) -> int:
        """The version as torch shows it: an inference tensor counts by itself, or not at all."""
        return self.flags // WRITES if self.flags & COUNTED else self.version

    def count_write(self, counted: bool = False) -> None:
        """The version goes up; in inference mode not that of a tensor which counts by itself.

        counted: but it does where a tensor that is none of inference mode was part of the write.
        """
        assign(self.storage, "version", self.storage.next_version)
        if self.flags & COUNTED and (counted or not local.state.inference):
            assign(self, "flags", self.flags + WRITES)

    def numpy(self) -> np.ndarray:
        """The elements as a NumPy array, to be read only."""
        return backend(self.spec.device).to_numpy(self.array)

    # where it stands in the graph

    @property
    def edge(self) -> Edge | None:
        """Where gradients of this tensor go; a view's is renewed after a write to its base."""
        view = self.view
        if view is not None and view.base is not None and view.version != self.storage.version:
            _renew(self, view, view.base)
        return self._edge

    @property
    def requires_grad(self) -> bool:
        if self._edge is not None:
            return True
        view = self.view  # a view made in no_grad does as its base does, but leads nowhere
        return view is not None and view.base is not None and view.base.requires_grad

    @property
    def is_leaf(self) -> bool:
        edge = self.edge
        return edge is None or type(edge) is AccumulateGrad

    @property
    def was_leaf(self) -> bool:
        """Whether it was a leaf before any write to its base that it has not met yet."""
        return self._edge is None or type(self._edge) is AccumulateGrad

    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor; None for leaves."""
        edge = self.edge
        if edge is None or type(edge) is AccumulateGrad:
            return None
        found = target(edge)
        return found if type(found) is Node else None

    @property
    def retains_grad(self) -> bool:
        return bool(self.flags & RETAINS)

    def requires_grad_(self, flag: bool = True) -> Tensor:
        """Make a leaf record, or freeze it."""
        if self.is_inference and flag and not local.state.inference:
            raise error(
                "inference_tensor",
                "requires_grad: an inference tensor cannot require grad outside inference mode",
                "make a normal tensor of it with clone()",
            )
        if not flag and not self.was_leaf:
            raise error(
                "invalid_argument",
                "requires_grad: only leaves can stop requiring grad; this tensor was made by "
                f"{self._made_by()}",
                "use detach() for a tensor without history",
            )
        if flag and not self.spec.dtype.differentiable:
            raise error(
                "dtype_mismatch",
                "requires_grad: only floating and complex tensors can require grad, "
                f"this one is {self.spec}",
                "convert it first, for instance to float32",
            )
        if self.was_leaf and flag != (self._edge is not None):
            if self._edge is not None:
                _FROZEN[self] = self._edge
            assign(self, "_edge", (_FROZEN.get(self) or AccumulateGrad(self)) if flag else None)
            if flag:
                self.reform_edge(self.spec)  # which it may have got while it was frozen
                if self.grad is not None:
                    self.keep_grad(self.grad)
        return self

    def leaf_edge(self) -> Edge:
        """Where gradients of this leaf go, or would: also of one that is frozen, with its hooks."""
        found = self._edge or _FROZEN.get(self)
        if found is None:
            found = _FROZEN[self] = AccumulateGrad(self)
        return found

    @property
    def frozen_edge(self) -> Edge | None:
        """The edge that it had as a leaf, or has: it will have this one whenever it records."""
        return _FROZEN.get(self)

    def freeze_edge(self, edge: Edge) -> None:
        """Have it record at this edge, once it does."""
        _FROZEN[self] = edge

    def reform_edge(self, spec: Spec) -> None:
        """The leaf gets another form: gradients have it too, if no graph leads here as yet."""
        if type(self._edge) is not AccumulateGrad or self._edge.spec == spec:
            return
        known = 3 if _FROZEN.get(self) is self._edge else 2  # the slot, the call; what is frozen
        if sys.getrefcount(self._edge) <= known or not _led_to(self._edge):
            assign(self._edge, "spec", spec)

    def _made_by(self) -> str:
        node = self.grad_fn
        return "nothing" if node is None else node.describe()

    def retain_grad(self) -> Tensor:
        """Keep this non-leaf's gradient in `.grad` during backward; nothing to do for a leaf."""
        if self.requires_grad and (self.retains_grad or self.was_leaf):
            return self  # among leaves are views made in no_grad: no gradient ever comes
        edge = self.edge
        if edge is None:
            raise error(
                "requires_no_grad",
                "retain_grad: the tensor does not require grad",
                "make it from tensors that do",
            )
        found = target(edge)
        if type(found) is Node and not self.retains_grad:
            _retain(found, edge, self)
            assign(self, "flags", self.flags | RETAINS)
        return self

    def detach(self) -> Tensor:
        """The same storage and version counter, without history."""
        view = self.view
        if view is not None:
            view = View(view.chain, None, "detached", self.storage.version)
        found = Tensor.sharing(self.storage, self.spec, None, view)
        found.flags |= self.flags & TURNED
        if self.flags & INFERENCE:
            found.flags |= INFERENCE if local.state.inference else INFERENCE | COUNTED
        return found

    def alias(self, edge: Edge | None) -> Tensor:
        """This tensor's elements with another edge: how saved tensors come back into the graph."""
        found = self.detach()
        found._edge = edge
        return found

    def set_grad(self, grad: Tensor | None) -> None:
        """Assign `.grad`; shape, dtype and device have to be the tensor's own."""
        if grad is self:
            raise error(
                "invalid_argument", "grad: a tensor cannot be its own gradient", "clone() it"
            )
        if grad is not None and grad.spec != self.spec:
            code = "shape_mismatch" if grad.shape != self.shape else "dtype_mismatch"
            raise error(
                code, f"grad: the tensor is {self.spec}, the gradient assigned is {grad.spec}"
            )
        self.keep_grad(grad)

    def keep_grad(self, grad: Tensor | None) -> None:
        """Put a gradient in place; the graph, where this is its leaf, knows of it too."""
        assign(self, "grad", grad)
        edge = self._edge
        if type(edge) is AccumulateGrad:
            assign(edge, "grad", None if grad is None else ref(grad))

    def rename_node(self, label: str) -> None:
        """Give the node that made this tensor torch's name for the composite it ends."""
        edge = self._edge
        if type(edge) is Node:
            edge.annotate().label = label

    def __repr__(self) -> str:
        data = "" if self.spec.device == "meta" else f" {self.numpy()!r}"
        return f"<Tensor {self.spec}{data}>"


_FROZEN: WeakKeyDictionary[Tensor, Edge] = WeakKeyDictionary()
"""Edges of leaves that don't require grad now: older graphs lead to them, and hooks hang there."""


def _led_to(edge: AccumulateGrad) -> bool:
    """Whether a graph leads to a leaf's edge: its nodes' edges are tuples, as logged changes are.

    A logged change is (owner, name, old value), see journal.py.
    """
    tuples = [r for r in gc.get_referrers(edge) if isinstance(r, tuple)]
    return any(len(r) != 3 or type(r[1]) is not str for r in tuples)


def _retain(node: Node, edge: Edge, tensor: Tensor) -> None:
    node.annotate().attach(RETAIN, place(edge), ref(tensor))


def move_retained(tensor: Tensor, old: Edge | None, new: Edge | None) -> None:
    """A tensor that retains its gradient does so for the node that it now comes from."""
    if not tensor.flags & RETAINS or old is None:
        return
    before = target(old)
    if type(before) is Node and before.extra is not None:
        kept = [a for a in before.extra.attached if a.kind != RETAIN or a.what() is not tensor]
        assign(before.extra, "attached", tuple(kept))
    after = None if new is None else target(new)
    if type(after) is Node:
        assert new is not None
        _retain(after, new, tensor)


_RESTRICTED = {
    "several": "is one of several views that one op made",
    "no_grad": "was made in no_grad mode",
    "inference": "was made in inference mode",
    "custom": "came out of a custom function, whose backward the write would go around",
}
"""Views that history can't be rewritten through, by what made them so."""


def check_view(what: str, creation: str) -> None:
    """Refuse a view that must not be written, nor used after its base was."""
    if creation in _RESTRICTED:
        raise error(
            "view_in_place",
            f"{what} {_RESTRICTED[creation]}",
            "write through the base, or make the view alone with grad mode on, or clone() it",
        )


def _renew(tensor: Tensor, view: View, base: Tensor) -> None:
    """After a write to the base, a view's history is the base's new one, seen through the view."""
    version = tensor.storage.version
    edge = base.edge
    if edge is None and type(tensor._edge) is not Node and type(tensor._edge) is not Output:
        return  # the view is a leaf of its own, or nothing
    check_view("the base of a view was modified in place, and the view", view.creation)
    if edge is None:  # not the base's own, which it may have again
        edge = AccumulateGrad(base.detach())
    edge = seen_from(base, view, edge)
    move_retained(tensor, tensor._edge, edge)
    assign(tensor, "_edge", edge)
    assign(view, "version", version)


def seen_from(base: Tensor, view: View, edge: Edge, written: bool = False) -> Edge | None:
    """The history of a view, from its base's; of a base without any it leads nowhere.

    written: as a write through the view finds it, with elements or without.
    """
    way = view.way(base)
    seen: Any = base.alias(edge)
    apply = APPLY[Tensor]
    state = local.state
    grad, state.grad = state.grad, True
    try:
        for call, index in way:
            arguments = list(call.arguments)
            arguments[call.op.places[0]] = seen
            seen = apply(call.op, tuple(arguments))
            seen = seen if call.single else seen[index]
        nothing = 0 in seen.shape and not written
        if nothing and all(call.outputs[i].dtype is base.dtype for call, i in way):
            seen = apply(PRIMITIVES["none_of"][0], (base.alias(edge), seen.shape))
    finally:
        state.grad = grad
    if way and not way[-1][0].name.startswith("ViewAs"):  # which see numbers of another kind
        seen.rename_node("AsStridedBackward0")
    found: Edge | None = seen._edge
    return found


VALUE_TYPES.add(Tensor)
