"""Results laid in memory as torch lays them: an op's declaration says how, the operands decide.

Where all operands are row-major, so are most results: what runs then (`Call.in_rows`) asks nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire_engine.arrays import backend, in_order, phantom_in
from gradwire_engine.order import Lying, Order, alone, dense, iterated, lying_of, normal
from gradwire_engine.spec import Spec

if TYPE_CHECKING:
    from gradwire_engine.call import Call

Given = list[Lying | None]
"""How each operand lies; None for numbers and what has no axes."""

KEPT = 64
"""Ways that operands lie which a call keeps what it found for."""

LAY: dict[str, Callable[[Any, Any], Any]] = {}
"""What lays an array as a phantom lies, by device, where arrays have no elements."""


class Lies(NamedTuple):
    """How an op's results lie: their orders, from a call and its operands.

    rule: gives a list, or one order for all that have as many axes; others are row-major then.
    anyway: also where all operands are row-major; else results are row-major then.
    """

    rule: Callable[[Call, Given], Order | list[Order]]
    anyway: bool = False


def _iterated(call: Call, given: Given) -> Order:
    return iterated(call.outputs[0].shape, tuple([g for g in given if g is not None]))


def _columns(call: Call, given: Given) -> Order:
    ndim = max(len(spec.shape) for spec in call.outputs)
    return (*range(ndim - 2), ndim - 1, ndim - 2) if ndim > 1 else None


ROWS = Lies(lambda call, given: None)
"""Row-major whatever the operands are, in spite of the op's family."""
ITERATED = Lies(_iterated)
"""As what is worked out element by element over all operands."""
ITERATED_BACKWARDS = Lies(lambda call, given: _iterated(call, given[::-1]))
"""The same where torch has the operands the other way round."""
COLUMNS = Lies(_columns, anyway=True)
"""Matrices column by column, as LAPACK has them."""
LIKE_FIRST = Lies(lambda call, given: None if given[0] is None else alone(given[0]))
"""As a copy of the first operand."""


def lay(call: Call, run: Callable[..., Any] | None, *arrays: Any) -> Any:
    """Run a call, or what stands for its kernel, on operands that may lie in any order."""
    result = (run or call.in_rows)(*arrays)
    for array in arrays:
        if getattr(array, "ndim", 0) > 1 and not array.flags.c_contiguous:
            return relaid(call, arrays, result)
    return result


def relaid(call: Call, arrays: Sequence[Any], result: Any) -> Any:
    """The results of a call in the order that these operands ask for."""
    strides = tuple([getattr(a, "strides", None) for a in arrays])
    wanted = call.orders.get(strides)
    if wanted is None:
        if len(call.orders) >= KEPT:
            call.orders.clear()
        wanted = call.orders[strides] = _wanted(call, arrays)
    if call.single:
        order, steps, spec = wanted[0]
        return result if result.strides == steps else laid(result, order, spec)
    return tuple([laid(x, order, spec) for x, (order, _, spec) in zip(result, wanted, strict=True)])


def orders_of(call: Call, arrays: Sequence[Any]) -> list[Order]:
    """In which order each result of a call lies for these operands, or phantoms of them."""
    lies = call.op.lies
    turned = any(getattr(a, "ndim", 0) > 1 and not a.flags.c_contiguous for a in arrays)
    if lies is None or not (turned or lies.anyway):
        return [None] * len(call.outputs)
    return [None if o is None else normal(o) for o, _, _ in _wanted(call, arrays)]


def _wanted(call: Call, arrays: Sequence[Any]) -> list[tuple[Order, tuple[int, ...], Spec]]:
    """For each result the order, the strides that it has then, and its spec."""
    lies: Any = call.op.lies
    given = [lying_of(a) if getattr(a, "shape", ()) else None for a in arrays]
    for place in call.promoted:
        given[place] = _promoted(given[place])
    orders = lies.rule(call, given)
    if type(orders) is not list:
        orders = [orders] * len(call.outputs)
    found = []
    for order, spec in zip(orders, call.outputs, strict=True):
        fits = order is None or len(order) == len(spec.shape)
        fitting = order if fits else None
        found.append((fitting, phantom_in(spec, fitting).strides, spec))
    return found


def _promoted(given: Lying | None) -> Lying | None:
    """How an operand lies once it is copied into the dtype that the op works in."""
    if given is None or dense(given):
        return given
    shape, step = given[0], 1
    strides = dict.fromkeys(range(len(shape)), 0)
    for axis in reversed(alone(given) or range(len(shape))):
        strides[axis], step = step, step * max(shape[axis], 1)
    return shape, tuple(strides.values())


def laid(array: Any, order: Order, spec: Spec) -> Any:
    """An array of this spec, copied if it doesn't lie in this order."""
    if spec.device == "meta":
        return phantom_in(spec, order)
    lay_out = LAY.get(spec.device)
    if lay_out is not None:
        return lay_out(array, phantom_in(spec, order))
    return in_order(array, order, backend(spec.device).xp)
