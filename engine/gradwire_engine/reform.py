"""In-place changes of form: t_, transpose_, squeeze_, unsqueeze_. Elements stay where they lie.

The tensor becomes a view of its storage by one more step, and takes that step's history; a gradient
that it retains is still that of the form it had. Its own views hang on that form too: they find
back to it by `View.back`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from gradwire_engine.arrays import Array
from gradwire_engine.call import Call, find_call
from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import error
from gradwire_engine.families import composite
from gradwire_engine.inplace import check_writable, content
from gradwire_engine.journal import assign
from gradwire_engine.mode import local
from gradwire_engine.ops.axes import t, transpose, unsqueeze
from gradwire_engine.ops.expand import view as see
from gradwire_engine.signature import Ints
from gradwire_engine.tape import RETAIN, Edge, Node, place
from gradwire_engine.tape import target as target_of
from gradwire_engine.tensor import TURNED, VIEW, Tensor, View


@composite(name="t_", inplace=True)
def t_(input: Array) -> Array:
    """Swap the axes of a matrix in place; what has fewer axes stays as it is."""
    return _reformed("t_", input, t, "TBackward1")


@composite(name="transpose_", inplace=True)
def transpose_(input: Array, dim0: int, dim1: int) -> Array:
    """Swap two axes in place."""
    return _reformed("transpose_", input, lambda x: transpose(x, dim0, dim1), _SWAPPED)


@composite(name="swapaxes_", inplace=True)
def swapaxes_(input: Array, axis0: int, axis1: int) -> Array:
    """Swap two axes in place."""
    return _reformed("swapaxes_", input, lambda x: transpose(x, axis0, axis1), _SWAPPED)


@composite(name="swapdims_", inplace=True)
def swapdims_(input: Array, dim0: int, dim1: int) -> Array:
    """Swap two axes in place."""
    return _reformed("swapdims_", input, lambda x: transpose(x, dim0, dim1), _SWAPPED)


@composite(name="squeeze_", inplace=True)
def squeeze_(input: Array, dim: Ints | None = None) -> Array:
    """Drop axes of size 1 in place: those named, or all."""
    squeeze, given = resolve("squeeze"), () if dim is None else (dim,)
    label = f"SqueezeBackward{3 if dim is None else 4 if len(dim) == 1 else 5}"
    return _reformed("squeeze_", input, lambda x: squeeze(x, *given), label)


@composite(name="unsqueeze_", inplace=True)
def unsqueeze_(input: Array, dim: int) -> Array:
    """Insert an axis of size 1 in place."""
    return _reformed("unsqueeze_", input, lambda x: unsqueeze(x, dim), "UnsqueezeBackward1")


_SWAPPED = "TransposeBackward1"


def _reformed(name: str, target: Any, view: Callable[[Any], Any], label: str) -> Any:
    """Give a tensor the form that a view of it has. label: what torch calls the node."""
    if type(target) is not Tensor:
        raise error(
            "untraceable",
            f"{name}: the form of a transform's value does not change in place",
            f"use {name.removesuffix('_')}, which gives a view",
        )
    if target.is_inference:
        view(content(target))  # what is wrong with dims is said first
    check_writable(name, target)
    held = content(target)
    if local.state.grad:
        held._edge = target.edge  # its hooks stay on the way
    seen = view(held)
    version = target.storage.next_version
    recorded = local.state.grad and seen._edge is not None
    if not recorded:
        target.reform_edge(seen.spec)
        _keep_first_form(target)
    assign(target, "view", _further(target, seen, version, recorded))
    assign(target, "flags", target.flags & ~TURNED | VIEW | seen.flags & TURNED)
    assign(target, "spec", seen.spec)
    target.count_write()
    if recorded:
        if seen._edge is not held._edge:
            seen.rename_node(label)
            _keep_list(held._edge, seen._edge)
        assign(target, "_edge", seen._edge)
    return target


def _keep_first_form(tensor: Tensor) -> None:
    """Have its node look at the form of what arrives, by what would retain a gradient there."""
    edge = tensor._edge
    node = None if edge is None or (tensor.view and tensor.view.base) else target_of(edge)
    if edge is None or type(node) is not Node:
        return
    extra = node.annotate()
    if not any(a.kind == RETAIN and a.what() is tensor for a in extra.attached):
        extra.attach(RETAIN, place(edge), ref(tensor))


def _keep_list(before: Edge | None, now: Edge | None) -> None:
    """Hooks of a tensor that had some already hang where those do, as torch's one list of them."""
    assert before is not None
    assert now is not None
    extra = target_of(before).extra
    if extra is not None and (extra.listed or extra.origin is not None):
        target_of(now).annotate().origin = extra.origin or (extra, place(before))


def _further(target: Tensor, seen: Tensor, version: int, recorded: bool) -> View:
    """How the tensor hangs on its storage from now on, with the way back to its old form."""
    old = target.view
    chain = seen.view.chain if seen.view is not None else ()
    if old is None:
        made = View(chain, None, "detached", version)
        return _with_way_back(made, chain, ())
    at = version if recorded else old.version
    made = View(chain, old.base, old.creation, at)
    made.depth = old.depth
    return _with_way_back(made, chain[len(old.chain) :], old.back)


def _with_way_back(view: View, calls: Any, before: Any) -> View:
    view.back = (*reversed([(_undo(call), 0) for call, _ in calls]), *before)
    return view


def _undo(call: Call) -> Call:
    """The call that leads from a form back to the one before."""
    before, now = call.inputs[0], call.outputs[0]
    if call.op in (transpose, t):
        arguments = (now, *call.arguments[1:])
        return find_call(call.op, ("undo", *arguments), arguments, call.device)
    return find_call(see, ("undo", now, before.shape), (now, before.shape), call.device)
