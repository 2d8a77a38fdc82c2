"""The SDK's tensor: a name on the host, a mirror of its spec and graph, elements on demand.

`facts` says what it is, `elements` reads it; here is where it stands in the graph.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any
from weakref import ref

from gradwire.elements import Elements
from gradwire.grad_fn import GradFn, grad_fn, note_leaf
from gradwire.pending import Lost, end_stale_recordings
from gradwire.thread import refuse_others, threads
from gradwire_engine.errors import error
from gradwire_engine.journal import assign
from gradwire_engine.tape import place
from gradwire_engine.tensor import Tensor as Meta

if TYPE_CHECKING:
    import numpy as np

    from gradwire.session import Session
    from gradwire.transport import Received


_NO_MIRROR: Any = None


class Tensor(Elements):
    """A multi-dimensional array on a host, with torch's attributes and methods.

    Ops, operators and in-place twins are put on by `methods`; what stands here is what a tensor is.
    Every attribute but the elements is answered by the mirror, without a request.
    """

    __slots__ = ("_grad", "_known_gradient", "_seen", "_went_well")

    _known_gradient: tuple[ref[Meta], int, np.ndarray]
    """A gradient that came unasked with a reply, its version, and its elements."""
    _went_well: tuple[int, set[Any]]
    """Of indices the version in which calls went well with them at the host, and these calls."""

    _seen: Tensor
    """Of a view the tensor that it is one of, which lives as long."""

    def __init__(self, session: Session, meta: Meta = _NO_MIRROR) -> None:
        super().__init__(session, meta)
        self._grad: Tensor | None = None

    @property
    def _base(self) -> Tensor | None:
        """The tensor whose elements it shows, and whose history it has; None if it is no view."""
        view = self._meta.view
        base = None if view is None else view.base
        if base is None:
            return None
        found: Tensor | None = getattr(self, "_seen", None)
        if found is None or found._meta is not base:
            raise error(
                "invalid_argument",
                "_base: what this tensor is a view of has no name in Python",
                "keep it beside the view",
            )
        return found

    def _lose(self, why: Lost) -> None:
        """The host never made it: all that is asked of it from now on says why."""
        self._name, self._meta = "", why  # type: ignore[assignment]

    __hash__ = object.__hash__

    def __copy__(self) -> Tensor:
        """A leaf that shares the elements."""
        found: Tensor = import_module("gradwire.pickling").copied(self)
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment; detach() first"
            )
        found: Tensor = import_module("gradwire.pickling").deeply_copied(self, memo)
        return found

    def __reduce_ex__(self, protocol: Any) -> Any:
        return import_module("gradwire.pickling").reduced(self)

    @property
    def requires_grad(self) -> bool:
        return self._meta.requires_grad

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        if not self._meta.was_leaf:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. "
                "Use detach() for a tensor without history."
            )
        self.requires_grad_(flag)

    @property
    def is_leaf(self) -> bool:
        return self._meta.is_leaf

    @property
    def retains_grad(self) -> bool:
        return self._meta.retains_grad

    @property
    def grad_fn(self) -> GradFn | None:
        return grad_fn(self._meta.grad_fn, self)

    @property
    def output_nr(self) -> int:
        """Which of the results of its node it is."""
        edge = self._meta.edge
        return 0 if edge is None else place(edge)

    @property
    def _version(self) -> int:
        if not self._meta.counts_writes:
            raise error(
                "inference_tensor",
                "_version: inference tensors do not count their writes",
                "make a normal tensor of it with clone()",
            )
        return self._meta.writes

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Make a leaf record, or freeze it."""
        with self.session.recording(self) as mark:
            before = getattr(self._meta, "_edge", None)
            self._meta.requires_grad_(requires_grad)
            if self.session.runs_here:
                note_leaf(self)
                self.session.through()
            elif self._meta._edge is not before:
                step = {"requires_grad": self._name, "value": requires_grad}
                self.session.record(step, mark=mark)
                note_leaf(self)
        return self

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in `.grad`."""
        with self.session.recording(self) as mark:
            self._meta.retain_grad()
            if not self._meta.was_leaf:
                self.session.record({"retain_grad": self._name}, mark=mark)

    def detach(self) -> Tensor:
        """The same elements and version counter, without history."""
        if self.session.takes_calls:
            return held_tensor(self.session, self._meta.detach())
        with self.session.recording(self) as mark:
            made = Tensor(self.session, self._meta.detach())
            step = {"detach": self._name, "out": made._name}
            self.session.record(step, [made], mark=mark)
        return made

    @property
    def data(self) -> Tensor:
        """As detach(); assigned to, it takes the elements of a tensor of the same spec."""
        return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        if (value.shape, value.dtype) != (self.shape, self.dtype):
            raise RuntimeError(
                f"data: the tensor is {self._meta.spec}, the value assigned is {value._meta.spec}; "
                "they must agree"
            )
        self.detach().copy_(value.detach())

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward accumulated; None where there is none."""
        if threads.here.recordings:
            end_stale_recordings()
        meta = self._meta.grad
        if meta is None:
            if not self.is_leaf and not self.retains_grad:
                warnings.warn(_NOT_A_LEAF, UserWarning, stacklevel=2)
            self._grad = None
        else:
            found = self._grad
            return self._named_gradient(meta) if found is None or found._meta is not meta else found
        return None

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got {type(value)}")
        session = self.session
        if session.takes_calls and (value is None or value.session is session):
            self._meta.set_grad(None if value is None else value._meta)
            self._grad = value
            return
        if session.runs_here:
            refuse_others(session, [value])
        with session.recording(self) as mark:
            self._meta.set_grad(None if value is None else value._meta)
            step = {"set_grad": self._name, "value": None if value is None else value._name}
            self.session.record(step, mark=mark)
            assign(self, "_grad", value)

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def _named_gradient(self, meta: Meta) -> Tensor:
        """The gradient under a name of its own, so that it outlives a later zeroing."""
        session = self.session
        if session.runs_here:
            found = self._grad = held_tensor(session, meta)
            return found
        with session.recording(self) as mark:
            made = Tensor(session, meta)
            step = {"op": "positive", "args": [f"{self._name}.grad"], "out": made._name}
            assign(self, "_grad", made)  # a hook that is called again finds none of its first call
            session.record(step, [made], mark=mark)  # it gives its operand itself
        known: Any = getattr(self, "_known_gradient", None)
        if known is not None and known[0]() is meta and known[1] == meta.version:
            made._elements = known[1:]
        session.looks_at_gradients = True
        return made

    def _keep_gradient(self, found: Received | None) -> None:
        """Keep a gradient's elements that came with a reply, for when somebody looks at it."""
        meta = self._meta.grad
        if meta is not None and found is not None and found.array is not None:
            self._known_gradient = ref(meta), meta.version, found.array


_new = object.__new__


def held_tensor(session: Session, meta: Any) -> Tensor:
    """A tensor of a session that is here, over one of the engine."""
    found: Tensor = _new(Tensor)  # its other slots are filled when they are asked for
    found.session, found._meta, found._grad = session, meta, None
    if session.meter is not None:
        found._own_name = session.give_name(found, meta.spec)
    return found


def mirrored_tensor(kind: type[Tensor], session: Session, name: str, meta: Meta) -> Tensor:
    """The tensor that a session's host has under a name, as one of a class."""
    found: Tensor = object.__new__(kind)
    Tensor.__init__(found, session, meta)
    found._name = name
    return found


_NOT_A_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor."
)


__all__ = ["Tensor", "mirrored_tensor"]
