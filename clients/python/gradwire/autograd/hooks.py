"""Hooks: a user's functions at tensors and nodes of the graph.

They hang in the mirrors, so that the mirrored walk comes to them in the walk's own order; what is
done with them there stands in `hooked`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import count
from typing import Any
from weakref import WeakSet, finalize, ref

from gradwire.autograd.registered import Registered
from gradwire.grad_fn import GradFn
from gradwire.tensor import Tensor
from gradwire.trace import Trace
from gradwire_engine import hooks as engine
from gradwire_engine.errors import error
from gradwire_engine.tape import Handle, target

Hook = Callable[..., Any]
_ids = count()


class RemovableHandle(AbstractContextManager["RemovableHandle"]):
    """Takes a hook away: by remove(), or at the end of a `with` block."""

    def __init__(self, handle: Handle, hook: Registered, known: WeakSet[Registered]) -> None:
        self.id = next(_ids)
        self._handle, self._hook, self._known = handle, ref(hook), known
        known.add(hook)

    def remove(self) -> None:
        """Remove the hook; once more does nothing."""
        self._handle.remove()
        hook = self._hook()
        if hook is not None:
            self._known.discard(hook)

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register_hook(self: Tensor, hook: Callable[..., Any]) -> RemovableHandle:
    """Call a function with this tensor's gradient in every walk; what it gives replaces it."""
    _check(self, hook)
    made = Registered("tensor", hook, ref(self), self.session)
    handle = engine.register_hook(self._meta, made)
    return _named(self, made, handle)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[..., Any]) -> RemovableHandle:
    """Call a function with this leaf after a backward has added to its `.grad`."""
    _check(self, hook)
    # it runs when the name is gone too: the graph, which holds the hook, holds the leaf by it
    made = Registered("post_accumulate", hook, lambda: self, self.session)
    if not self.session.runs_here:
        made.place = self._name
    handle = engine.register_post_accumulate_grad_hook(self._meta, made)
    return RemovableHandle(handle, made, self.session.hooked)


def register_node_hook(self: GradFn, hook: Hook) -> RemovableHandle:
    """Call a function with the gradients of the operands and of the results, as two tuples."""
    tensor = _known(self, hook)
    made = Registered("node", hook, ref(tensor), tensor.session, len(self.node.next_functions))
    return _named(tensor, made, self.node.register_hook(made))


def register_node_prehook(self: GradFn, hook: Hook) -> RemovableHandle:
    """Call a function with the gradients of the results, as a tuple, before the node's rule."""
    tensor = _known(self, hook)
    made = Registered("node_before", hook, ref(tensor), tensor.session)
    return _named(tensor, made, self.node.register_prehook(made))


def _known(node: GradFn, hook: Hook) -> Tensor:
    """A tensor that the node made, by which the host finds it."""
    tensor = node.tensor
    if tensor is None or tensor._meta.edge is None or target(tensor._meta.edge) is not node.node:
        raise error(
            "invalid_argument",
            f"{node.name()}: a hook can be registered only on the grad_fn of a tensor",
            "keep the tensor that this node made, and ask it for its grad_fn",
        )
    _check(tensor, hook)
    return tensor


def _check(tensor: Tensor, hook: Any) -> None:
    session: Any = tensor.session
    if isinstance(session, Trace):
        raise error(
            "untraceable",
            f"{session.called} registers a hook; it is only written down here, and hooks of its "
            "tensors can't be",
            "register the hook outside of the function",
        )
    if session.runs_here:
        session._check_usable()
    if not callable(hook):
        raise TypeError(f"a hook must be callable, got {type(hook).__name__}")


def _named(tensor: Tensor, made: Registered, handle: Handle) -> RemovableHandle:
    """Give the place a name at the host, which lives as long as the place and the hook do."""
    session = tensor.session
    if session.runs_here:
        return RemovableHandle(handle, made, session.hooked)
    made.place = session.new_name()
    step: dict[str, Any] = {"edge": tensor._name, "out": made.place}
    if made.kind == "tensor":
        step["hooks"] = True
    try:
        with session.recording() as mark:
            session.record(step, mark=mark)
    except BaseException:
        handle.remove()
        raise
    extra = handle.extra()
    if extra is not None:
        freed = finalize(extra, session.forget, made.place)
        freed.atexit = False
        finalize(made, freed).atexit = False  # the hook was removed
    return RemovableHandle(handle, made, session.hooked)


METHODS: dict[str, Any] = {
    "register_hook": register_hook,
    "register_post_accumulate_grad_hook": register_post_accumulate_grad_hook,
}
"""What tensors have of this."""


def install() -> None:
    """Give nodes their methods."""
    GradFn.register_hook = register_node_hook
    GradFn.register_prehook = register_node_prehook


__all__ = ["METHODS", "RemovableHandle", "install"]
