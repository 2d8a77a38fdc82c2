"""Tensors that a result depends on in torch alone, since it has one node for several steps."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.families import internal
from gradwire_engine.mode import local
from gradwire_engine.op import Primitive
from gradwire_engine.ops.choose import zero_of
from gradwire_engine.rule import nothing_where, vjp
from gradwire_engine.signature import Arrays
from gradwire_engine.tensor import Tensor


def _declare(name: str, of_kept: Any, said: str, keeps: tuple[str, ...] = ()) -> Primitive:
    @internal(
        vjp(input=lambda g, kept: g, kept=of_kept),
        name=name,
        exact=True,
        batch=lambda b: b.front("input"),
        keeps=keeps,
        formula=f"input: g; kept: {said}",
    )
    def copy(xp: Any, input: Array, kept: Arrays) -> Array:
        """A copy of input, which keeps other tensors for the way back, where nobody reads them."""
        return xp.array(input)

    return copy


_NOTHING = nothing_where(lambda: True, lambda g: [])
_OPERANDS = _declare("kept_beside", _NOTHING, "nothing")
_WITH_RESULT = _declare("kept_beside_and_result", _NOTHING, "nothing", ("out",))
_CONSTANT = _declare("constant_in", lambda g, kept: [zero_of(x) for x in kept], "0")


def beside(
    result: Any, *kept: Any, itself: bool = False, zeros: bool = False, called: str | None = None
) -> Any:
    """A result that autograd takes to depend on these too, as where torch saves them with it.

    So it requires grad if one of them does, though nothing comes to them this way (zeros, if
    `zeros`), and to write to one of them before backward is refused; if `itself`, to write to the
    result too. called: the node's name, by default that of the result's node.
    """
    if not local.state.grad or not all(type(x) is Tensor for x in (result, *kept)):
        return result
    if not any(x.requires_grad for x in (result, *kept)):
        return result
    found = (_WITH_RESULT if itself else _CONSTANT if zeros else _OPERANDS)(result, kept)
    edge = result.grad_fn
    name = called or (edge and edge.name())
    if name:
        found.rename_node(name)
    return found
