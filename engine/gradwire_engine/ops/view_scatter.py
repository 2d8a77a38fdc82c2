"""A write through a view, as an op: the base with the part that the view shows replaced."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array, phantom
from gradwire_engine.call import follow
from gradwire_engine.errors import error
from gradwire_engine.families import primitive
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.creation import full
from gradwire_engine.ops.expand import contiguous, reshape, view, viewable
from gradwire_engine.overlap import overlaps, write_through
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Data
from gradwire_engine.spec import Spec, bool_

_BY_STRIDES = ("as_strided", "view_as_complex")
"""Views that ask how the elements lie: a gradient lies as its hooks please, not as the base did."""


def seen_through(g: Any, chain: Any) -> Any:
    """The part of a gradient that the views of a chain show, reshaping with a copy if need be."""
    for call, index in chain:
        arguments = list(call.arguments)
        if call.op is view:
            g = reshape(g, call.outputs[0].shape)
            continue
        arguments[call.op.places[0]] = contiguous(g) if call.op.name in _BY_STRIDES else g
        g = call.op(*arguments)
        g = g if call.single else g[index]
    return g


def _written_in_each(b: Any) -> Any:
    """Only as the rule below asks for it: zeros in the part that a chain of views shows.

    Which part that is does not depend on the example: it is found once, as a mask. It is written
    in the dtype of what is masked, as views that see that as numbers of another kind take no bools.
    """
    input, src, chain = b.operand("input"), b.operand("src"), b["chain"]
    if src != 0 or (input.dtype.is_complex and _sees_halves(chain)):
        return b.one_by_one()
    base = full(tuple(input.shape), 1, dtype=input.dtype, device=input.device)
    return where(to_dtype(view_scatter(base, 0, chain), bool_), b.front("input"), 0)


def _sees_halves(chain: Any) -> bool:
    """Whether views of complex numbers show their parts, of which one alone may be written."""
    return not all(call.outputs[index].dtype.is_complex for call, index in chain)


_RULES = vjp(input=lambda g, chain: view_scatter(contiguous(g), 0, chain), src=seen_through)


@primitive(
    _RULES,
    spec=lambda input: input,
    family="elementwise",
    exact=True,
    public=False,
    grad_name="CopySlices",
    formula="input: g with the part set to 0; src: that part of g",
    linear=True,
    batch=_written_in_each,
)
def view_scatter(xp: Any, input: Array, src: Array, chain: Data) -> Array:
    """The input with the elements that a chain of views shows replaced by those of src."""
    out = xp.copy(input, order="K")
    write_through(chain, out, src)
    return out


def _all_but_part(g: Any, chain: Any, input_spec: Spec) -> Any:
    """The gradient of what was not written; refused, as by torch, where a place is shown twice."""
    spreads = any(call.op.name in ("expand", "as_strided") for call, _ in chain)
    if spreads and overlaps(follow(chain, phantom(input_spec.shape, input_spec.dtype.numpy))):
        raise error(
            "view_in_place",
            "backward: an expanded view was written in place, several of whose elements share one "
            "place in memory: the gradient of its base cannot be told",
            "write through the base, or clone() the view",
        )
    return view_scatter(_laid_for(chain, contiguous(g), input_spec), 0, chain)


_TURNS = ("t", "transpose")


def _laid_for(chain: Any, g: Any, spec: Spec) -> Any:
    """A gradient that lies so in memory that the chain shows it: the base may have been turned in
    place since its views were made, which see it as it was.
    """
    turns = 0
    while turns < len(chain) and chain[turns][0].op.name in _TURNS:
        turns += 1
    if not turns or turns == len(chain) or chain[turns][0].op is not view:
        return g
    lies = phantom(spec.shape, spec.dtype.numpy)
    for call, _ in chain[:turns]:
        lies = lies.T if call.op.name == "t" else lies.swapaxes(*call.arguments[1:])
    if viewable(lies.shape, lies.strides, chain[turns][0].outputs[0].shape, lies.itemsize):
        return g
    calls = [call for call, _ in chain[:turns]]
    for call in calls:
        g = call.op(g, *call.arguments[1:])
    g = contiguous(g)
    for call in reversed(calls):
        g = call.op(g, *call.arguments[1:])  # a swap is its own way back
    return g


@primitive(
    vjp(input=_all_but_part, src=seen_through),
    spec=lambda input: input,
    family="elementwise",
    exact=True,
    public=False,
    grad_name="CopySlices",
    keeps_result=lambda operands: True,
    formula="input: g with the part set to 0; src: that part of g",
    linear=True,
    batch=_written_in_each,
)
def copy_slices(xp: Any, input: Array, src: Array, chain: Data) -> Array:
    """The same as the node that a write through a view leaves: walked, it is freed as torch's."""
    return view_scatter.kernel(xp, input, src, chain)
