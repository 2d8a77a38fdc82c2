"""The short way for ops of one or two operands and one result: `apply` without its generality.

An op whose call was worked out before costs a dictionary look-up, the kernel, a node and a tensor.
Whatever is not that simple goes the long way, and so does what fails: there it is told why.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from gradwire_engine.apply import planned
from gradwire_engine.arrays import NAMESPACE_OF
from gradwire_engine.call import CACHE_SIZE, Call
from gradwire_engine.mode import local
from gradwire_engine.op import HOST, RAW, Primitive
from gradwire_engine.quick_any import goes_middle, middle
from gradwire_engine.quick_view import in_rows, short_view, whole
from gradwire_engine.signature import REQUIRED
from gradwire_engine.spec import FLOAT
from gradwire_engine.tape import Node, next_seq
from gradwire_engine.tensor import INFERENCE, Storage, Tensor

NOTHING, FIRST, SECOND, BOTH, SWAPPED, RESULT, OTHER, NO_GRADIENT = range(8)
"""What a recipe saves: the patterns that the short way knows, all others, and no recipe at all."""

ZERO, ZERO_ZERO = (0,), (0, 0)
"""The versions of tensors that nobody wrote to."""

_KEEP = {(): NOTHING, (0,): FIRST, (1,): SECOND, (0, 1): BOTH, (1, 0): SWAPPED, (~0,): RESULT}


class Quick:
    """A call of the short way, with what it saves where the first, the second or both need it."""

    __slots__ = ("both", "call", "first", "second", "spec")

    def __init__(self, call: Call, turned: bool) -> None:
        self.call: Any = call
        if turned:  # operands may lie in any order, here and in their place
            self.call = SimpleNamespace(in_rows=call.run, nbytes=call.nbytes, flops=call.flops)
        self.spec = call.outputs[0]
        several = len(call.inputs) == 2
        self.first = _recipe(call, (True, False) if several else (True,))
        self.second = _recipe(call, (False, True)) if several else self.first
        self.both = _recipe(call, (True, True)) if several else self.first


def _recipe(call: Call, needs: tuple[bool, ...]) -> tuple[Any, int]:
    if not call.differentiable or not any(n and r for n, r in zip(needs, call.ruled, strict=True)):
        return None, NO_GRADIENT
    if call.unrecorded or not all(call.ruled):
        return None, OTHER
    recipe = call.recipe(needs)
    keep = _KEEP.get(recipe.saved, OTHER)
    return recipe, OTHER if keep == RESULT and len(needs) > 1 else keep


def _suits(op: Primitive, operands: int) -> bool:
    """Whether the result depends on nothing but these first operands, and is one new array."""
    return (
        op.places == tuple(range(operands))
        and all(p.kind == "tensor" for p in op.signature.parameters[:operands])
        and op.outputs == ("out",)
        and not (op.random or op.view or op.many or op.data_dependent)
        and op.device_place is None
        and not (op.lies is not None and op.lies.anyway)
    )


def install(op: Primitive) -> None:
    """Give a primitive the short way if it is of the simple kind."""
    defaults = tuple(p.default for p in op.signature.parameters)
    if _suits(op, 1) and REQUIRED not in defaults[1:]:
        op.short = (1, _unary(op))
    elif _suits(op, 2) and REQUIRED not in defaults[2:]:
        op.short = (2, _binary(op))
    elif op.view and not op.many:
        op.short = (op.signature.arity, short_view(op))


def install_middle(op: Primitive) -> None:
    """Give a primitive the middle way if it goes that."""
    if goes_middle(op):
        op.middle = middle(op)


class _Calls(dict[Any, Quick]):
    """The calls of one op that may go the short way, by the specs of its operands."""

    def __init__(self, op: Primitive, turned: bool = False) -> None:
        self._op, self._turned = op, turned

    def learn(self, key: Any, operands: tuple[Any, ...]) -> None:
        """After the long way: keep the call if its result depends on nothing but the specs."""
        specs = [x.spec for x in operands if type(x) is Tensor]
        if key in self or any(s.dtype.category < FLOAT for s in specs):
            return
        if self._op.goes_apart(operands):
            return
        call = planned(self._op, self._op.signature.complete(operands, {}))[0]
        if len(self) >= CACHE_SIZE:
            self.clear()
        self[key] = Quick(call, self._turned)


def _binary(op: Primitive) -> Callable[[Any, Any], Any]:
    """The way of an op of two operands, for row-major ones and others."""
    if op.lies is None:
        return _of_two(op, _Calls(op), whole, None)
    any_order = _of_two(op, _Calls(op, turned=True), whole, None)
    return _of_two(op, _Calls(op), in_rows, lambda a, b: _marked(any_order(a, b)))


def _unary(op: Primitive) -> Callable[[Any], Any]:
    """The same of an op of one operand."""
    if op.lies is None:
        return _of_one(op, _Calls(op), whole, None)
    any_order = _of_one(op, _Calls(op, turned=True), whole, None)
    return _of_one(op, _Calls(op), in_rows, lambda a: _marked(any_order(a)))


def _marked(made: Any) -> Any:
    return made.marked() if type(made) is Tensor else made


def _of_two(  # noqa: C901 (one hot frame)
    op: Primitive,
    calls: _Calls,
    plain: Callable[[Tensor], bool],
    otherwise: Callable[[Any, Any], Any] | None,
) -> Callable[[Any, Any], Any]:
    """plain: whether a tensor with flags goes this way too; otherwise: which way it goes if not."""
    get, kernel = calls.get, op.kernel
    named = {p.name: p.default for p in op.signature.parameters[2:]}

    def long(a: Any, b: Any) -> Any:
        made = op.dispatch((a, b), {})
        if type(a) is Tensor and type(b) is Tensor:
            calls.learn((a.spec, b.spec), (a, b))
        elif type(a) is Tensor and type(b) in (int, float):
            calls.learn((a.spec, type(b)), (a, b))
        return made

    apart = otherwise or long

    def binary(a: Any, b: Any) -> Any:  # noqa: C901
        if type(a) is not Tensor:
            if type(a) is HOST and type(b) in RAW:  # in a rule, on the walk back
                return kernel(NAMESPACE_OF[HOST], a, b, **named)
            return apart(a, b)
        if a.flags and not plain(a):
            return apart(a, b)
        if type(b) is Tensor:
            if b.flags and not plain(b):
                return apart(a, b)
            quick = get((a.spec, b.spec))
            sb, eb = b._storage, b._edge
            other = b._array if sb is None else b.array
        else:
            quick = get((a.spec, type(b)))
            other, sb, eb = b, None, None
        if quick is None:
            return long(a, b)
        state = local.state
        recipe: Any
        ea = a._edge
        if not state.grad or (ea is None and eb is None):
            recipe, keep = None, NO_GRADIENT
        elif ea is None:
            recipe, keep = quick.second
        elif eb is None:
            recipe, keep = quick.first
        else:
            recipe, keep = quick.both
        if keep == OTHER:
            return long(a, b)
        if state.meter is not None:
            state.meter.charge(quick.call.nbytes, quick.call.flops, 1)
        sa = a._storage
        try:
            array = quick.call.in_rows(a._array if sa is None else a.array, other)
        except Exception:
            return long(a, b)
        if recipe is None:
            made = Tensor(array, quick.spec, None)
            if state.inference:
                made.flags = INFERENCE
            return made
        saved: tuple[Any, ...]
        versions: tuple[int, ...]
        if keep == NOTHING:
            return Tensor(array, quick.spec, Node(recipe, (ea, eb), (), (), next_seq()))
        if keep == BOTH:
            saved, versions = (a, b), ZERO_ZERO
        elif keep == SWAPPED:
            saved, versions = (b, a), ZERO_ZERO
        elif keep == SECOND:
            saved, versions = (b,), ZERO
        else:
            saved, versions = (a,), ZERO
        if sa is not None or sb is not None:
            versions = tuple([s.version if type(s) is Tensor else 0 for s in saved])
        return Tensor(array, quick.spec, Node(recipe, (ea, eb), saved, versions, next_seq()))

    return binary


def _of_one(  # noqa: C901
    op: Primitive,
    calls: _Calls,
    plain: Callable[[Tensor], bool],
    otherwise: Callable[[Any], Any] | None,
) -> Callable[[Any], Any]:
    get, kernel = calls.get, op.kernel
    named = {p.name: p.default for p in op.signature.parameters[1:]}

    def long(a: Any) -> Any:
        made = op.dispatch((a,), {})
        if type(a) is Tensor:
            calls.learn(a.spec, (a,))
        return made

    apart = otherwise or long

    def unary(a: Any) -> Any:  # noqa: C901
        if type(a) is not Tensor:
            xp = NAMESPACE_OF.get(type(a))
            return long(a) if xp is None else kernel(xp, a, **named)
        if a.flags and not plain(a):
            return apart(a)
        quick = get(a.spec)
        if quick is None:
            return long(a)
        state, edge = local.state, a._edge
        recipe: Any
        recipe, keep = quick.first if edge is not None and state.grad else (None, NO_GRADIENT)
        if keep == OTHER:
            return long(a)
        if state.meter is not None:
            state.meter.charge(quick.call.nbytes, quick.call.flops, 1)
        try:
            array = quick.call.in_rows(a._array if a._storage is None else a.array)
        except Exception:
            return long(a)
        if recipe is None:
            made = Tensor(array, quick.spec, None)
            if state.inference:
                made.flags = INFERENCE
            return made
        if keep == RESULT:
            made, saved = Tensor(None, quick.spec, None), Tensor(None, quick.spec, None)
            made._storage = saved._storage = Storage(array)  # one version; no edge back to the node
            made._edge = Node(recipe, (edge,), (saved,), ZERO, next_seq())
            return made
        if keep == NOTHING:
            return Tensor(array, quick.spec, Node(recipe, (edge,), (), (), next_seq()))
        versions = ZERO if a._storage is None else (a._storage.version,)
        return Tensor(array, quick.spec, Node(recipe, (edge,), (a,), versions, next_seq()))

    return unary
