"""detach_: a tensor forgets its history in place, but not its hooks."""

from __future__ import annotations

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error
from gradwire_engine.families import composite
from gradwire_engine.journal import assign
from gradwire_engine.mode import local
from gradwire_engine.tape import AccumulateGrad, place, target
from gradwire_engine.tensor import DETACHED, Tensor


@composite(name="detach_", inplace=True)
def detach_(input: Array) -> Array:
    """Forget the tensor's history in place: it becomes a leaf that requires no grad."""
    if type(input) is not Tensor:
        return input.detach_()
    if local.state.inference or input.is_inference:  # as in torch, where autograd is not there
        return input
    if input.view is not None and input.view.base is not None:
        raise error(
            "view_in_place",
            "detach_: a view cannot be detached in place",
            "use detach(), which gives a new tensor",
        )
    if input.is_leaf:
        return input.requires_grad_(False)  # with its hooks, which it has again once it records
    _take_hooks(input)
    input.storage  # noqa: B018 (made, so that walks look at it and at the flag)
    assign(input, "flags", input.flags | DETACHED)
    assign(input, "_edge", None)
    return input


def _take_hooks(input: Tensor) -> None:
    """The hooks of a tensor stay with it: as a leaf that records again it has them."""
    edge = input.edge
    assert edge is not None
    extra, output = target(edge).extra, place(edge)
    if extra is not None and extra.listed:
        leaf = AccumulateGrad(input)
        leaf.annotate().inherit(extra, output)
        input.freeze_edge(leaf)
