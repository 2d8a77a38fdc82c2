"""A write through a view, as an op: the base with the part that the view shows replaced."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array, phantom, phantom_of
from gradwire_engine.call import follow
from gradwire_engine.errors import error
from gradwire_engine.families import internal
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.creation import full
from gradwire_engine.ops.expand import contiguous, reshape, view
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


@internal(
    _RULES,
    family="elementwise",
    exact=True,
    grad_name="CopySlices",
    formula="input: g with the part set to 0; src: that part of g",
    linear=True,
    batch=_written_in_each,
)
def view_scatter(xp: Any, input: Array, src: Array, chain: Data) -> Array:
    """The input with the elements that a chain of views shows replaced by those of src."""
    out = xp.copy(input, order="K")
    _write(xp, chain, out, src)
    return out


def _write(xp: Any, chain: Any, out: Any, src: Any) -> None:
    """Write through a chain of views of an array that may lie in memory as their base did not.

    A gradient does not lie as its base did, nor does a base that was turned in place since. What a
    view that asks how the elements lie would refuse is copied for it, and then written back.
    """
    part = out
    for at, link in enumerate(chain):
        if link[0].op.by_strides and not part.flags.c_contiguous:
            part = xp.ascontiguousarray(part)
            _write(xp, chain[at:], part, src)
            write_through(chain[:at], out, part)
            return
        part = follow((link,), part)
    write_through(chain, out, src)


def _all_but_part(g: Any, chain: Any, input_spec: Spec) -> Any:
    """The gradient of what was not written; refused, as by torch, where a place is shown twice."""
    spreads = any(call.op.name in ("expand", "as_strided") for call, _ in chain)
    if spreads and _shows_twice(chain, phantom_of(input_spec)):
        raise error(
            "view_in_place",
            "backward: an expanded view was written in place, several of whose elements share one "
            "place in memory: the gradient of its base cannot be told",
            "write through the base, or clone() the view",
        )
    return view_scatter(contiguous(g), 0, chain)


def _shows_twice(chain: Any, array: Array) -> bool:
    """Whether a chain of views shows an element of this phantom in several places."""
    for link in chain:
        if link[0].op.by_strides and not array.flags.c_contiguous:
            if overlaps(array):
                return True
            array = phantom(array.shape, array.dtype)
        array = follow((link,), array)
    return overlaps(array)


@internal(
    vjp(input=_all_but_part, src=seen_through),
    family="elementwise",
    exact=True,
    grad_name="CopySlices",
    keeps_result=lambda operands: True,
    formula="input: g with the part set to 0; src: that part of g",
    linear=True,
    batch=_written_in_each,
)
def copy_slices(xp: Any, input: Array, src: Array, chain: Data) -> Array:
    """The same as the node that a write through a view leaves: walked, it is freed as torch's."""
    return view_scatter.kernel(xp, input, src, chain)
