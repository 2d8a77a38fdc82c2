"""In-place ops: the functional op, then its result swapped into the storage and the history.

A write through a view rewrites the base's history: the base becomes `view_scatter(base, value)`,
and every view of it finds its new edge when it is next asked for. Restrictions are torch's.
"""

from __future__ import annotations

import sys
from typing import Any

from gradwire_engine.apply import save_outputs
from gradwire_engine.arrays import backend
from gradwire_engine.call import follow
from gradwire_engine.errors import error
from gradwire_engine.journal import assign
from gradwire_engine.mode import local
from gradwire_engine.ops.cast import clone, to_dtype
from gradwire_engine.ops.view_scatter import view_scatter
from gradwire_engine.spec import Spec
from gradwire_engine.tape import AccumulateGrad, Edge, Node
from gradwire_engine.tensor import Storage, Tensor, View

_ALONE = 2
"""References to an array that only its storage holds, counted by sys.getrefcount."""


def check_writable(name: str, tensor: Tensor) -> None:
    """Refuse what torch refuses before an in-place op: leaves, restricted views, inference."""
    state = local.state
    if tensor.is_inference and not state.inference:
        raise error(
            "inference_tensor",
            f"{name}: in-place update of an inference tensor outside inference mode",
            "make a normal tensor of it with clone()",
        )
    if state.grad and tensor.requires_grad:
        _check_history(name, tensor)
    if tensor.view is not None and overlaps(tensor.array):
        raise error(
            "view_in_place",
            f"{name}: several elements of this expanded view share one place in memory",
            "clone() it first",
        )


def _check_history(name: str, tensor: Tensor) -> None:
    view = tensor.view
    base = tensor if view is None else view.base or tensor
    if base.requires_grad and base.is_leaf:
        what = "a leaf" if base is tensor else "a view of a leaf"
        raise error(
            "leaf_in_place",
            f"{name}: {what} that requires grad is being changed in place",
            "do it in no_grad, or on a copy made with clone()",
        )
    if view is not None and view.base is not None and view.creation not in ("alone", "detached"):
        why = {
            "several": "is one of several views that one op made",
            "no_grad": "was made in no_grad mode",
            "inference": "was made in inference mode",
        }[view.creation]
        raise error(
            "view_in_place",
            f"{name}: the view being changed in place {why}",
            "write through the base, or make the view alone with grad mode on, or clone() it",
        )


def overlaps(array: Any) -> bool:
    """Whether an axis longer than 1 has stride 0, as expand makes it."""
    return any(size > 1 and not step for size, step in zip(array.shape, array.strides, strict=True))


def write(name: str, target: Tensor, value: Tensor) -> Tensor:
    """Make `value` the content and the history of `target`, and of all that shares its storage."""
    check_writable(name, target)
    if value.shape != target.shape:
        raise error(
            "shape_mismatch",
            f"{name}: the result has shape {list(value.shape)}, "
            f"the tensor written in place has {list(target.shape)}",
            "the operands must broadcast to the shape of the tensor that is written",
        )
    if value.dtype is not target.dtype:
        value = _cast(name, value, target.spec)
    state, view = local.state, target.view
    base = None if view is None else view.base
    if state.grad and base is not None and (base.requires_grad or value.requires_grad):
        assert view is not None
        _swap_base(base, view_scatter(base, value, view.chain[view.depth :]))
        _save_result(target, value.edge)
        return target
    edge = value.edge
    _swap(target, value)
    if state.grad and edge is not None:
        _adopt(target, edge, value)
    return target


def _swap_base(base: Tensor, scattered: Tensor) -> None:
    """The base of a written view takes over content and history; its views renew their edges."""
    _swap(base, scattered)
    assign(base, "_edge", scattered.edge)


def _cast(name: str, value: Tensor, wanted: Spec) -> Tensor:
    if value.dtype.category > wanted.dtype.category:
        raise error(
            "dtype_mismatch",
            f"{name}: a {value.dtype.name} result cannot be stored in a {wanted.dtype.name} tensor",
            "convert the tensor first",
        )
    return to_dtype(value, wanted.dtype)  # type: ignore[no-any-return]


def _swap(target: Tensor, value: Tensor) -> None:
    """Put the value's elements into the storage: a fresh array, or a part of a fresh one."""
    storage = target.storage
    version = storage.version + 1
    if storage.array is not None and target.spec.device != "meta":
        view = target.view
        if view is None:
            array = value.array
            if array.strides != storage.array.strides:
                array = _like(storage.array, array, target.spec.device)
            assign(storage, "array", array)
        else:
            _write_part(storage, view, value.array)
    assign(storage, "version", version)


def _like(old: Any, new: Any, device: str) -> Any:
    xp = backend(device).xp
    made = xp.empty_like(old)
    made[...] = new
    return made


def _write_part(storage: Storage, view: View, value: Any) -> None:
    view.array = view.source = None  # this view's own hold on the array must not count
    if local.state.journal is not None:
        assign(storage, "array", storage.array)  # the journal's hold on it forces the copy below
    if sys.getrefcount(storage.array) > _ALONE or storage.array.base is not None:
        storage.array = storage.array.copy(order="K")
    follow(view.chain, storage.array)[...] = value


def _adopt(target: Tensor, edge: Edge, value: Tensor) -> None:
    """The tensor takes over the history of the value computed for it."""
    if isinstance(edge, AccumulateGrad):  # the value is a leaf itself: record a copy of it
        edge = clone(value).edge
    assign(target, "_edge", edge)
    _save_result(target, edge)


def _save_result(target: Tensor, edge: Edge | None) -> None:
    """A rule that needs its op's result finds it in the tensor written, at its new version."""
    if type(edge) is Node and any(place < 0 for place in edge.recipe.saved):
        save_outputs(edge, [target])
