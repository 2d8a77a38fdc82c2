"""The short way for elementwise ops on whole tensors: what `apply` does, without its generality.

A binary op on two tensors that are no views, whose call was worked out before, costs a dictionary
look-up, the kernel, a node and a tensor. Whatever is not that simple goes the long way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire_engine.arrays import NAMESPACE_OF
from gradwire_engine.call import CACHE_SIZE, Call, Recipe
from gradwire_engine.mode import local
from gradwire_engine.op import Primitive
from gradwire_engine.promote import Weak
from gradwire_engine.signature import REQUIRED
from gradwire_engine.spec import FLOAT
from gradwire_engine.tape import Node, next_seq
from gradwire_engine.tensor import Storage, Tensor

NOTHING, FIRST, SECOND, FIRST_SECOND, SECOND_FIRST, RESULT, OTHER = range(7)
"""What a recipe saves: the patterns that the short way knows, and all others."""

_KEEP = {(): NOTHING, (0,): FIRST, (1,): SECOND, (0, 1): FIRST_SECOND, (1, 0): SECOND_FIRST}


class Quick:
    """A call of the short way, with its recipes by which operands require grad (as bits)."""

    __slots__ = ("call", "recipes", "spec")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.spec = call.outputs[0]
        self.recipes = [_recipe(call, bits) for bits in range(2 ** len(call.inputs))]


def _recipe(call: Call, bits: int) -> tuple[Recipe | None, int]:
    needs = tuple(bool(bits >> i & 1) for i in range(len(call.inputs)))
    if not any(needs) or not all(call.ruled) or not call.differentiable:
        return None, OTHER
    recipe = call.recipe(needs)
    return recipe, RESULT if recipe.saved == (~0,) else _KEEP.get(recipe.saved, OTHER)


def _suits(op: Primitive, operands: int) -> bool:
    return (
        op.family == "elementwise"
        and len(op.places) == operands
        and op.places == tuple(range(operands))
        and all(p.kind == "tensor" for p in op.signature.parameters[:operands])
        and op.outputs == ("out",)
        and not op.random
    )


def install(op: Primitive) -> None:
    """Give a primitive the short way if it is of the simple kind."""
    defaults = tuple(p.default for p in op.signature.parameters)
    if _suits(op, 1) and REQUIRED not in defaults[1:]:
        op.short = (1, _unary(op, defaults[1:]))
    elif _suits(op, 2) and REQUIRED not in defaults[2:]:
        op.short = (2, _binary(op))


class _Calls(dict[Any, Quick]):
    """The calls of one op that may go the short way, by the specs of its operands."""

    def __init__(self, op: Primitive) -> None:
        self._op = op

    def learn(self, key: Any, made: Any, operands: tuple[Any, ...]) -> None:
        """After the long way: keep the call if its result depends on nothing but the specs."""
        specs = [x.spec for x in operands if type(x) is Tensor]
        if type(made) is not Tensor or any(s.dtype.category < FLOAT for s in specs):
            return
        arguments = tuple(x.spec if type(x) is Tensor else type(x) for x in operands)
        rest = self._op.signature.parameters[len(operands) :]
        for call in reversed(self._op.calls.values()):
            same = tuple(s.kind if type(s) is Weak else s for s in call.inputs) == arguments
            if same and all(call.attributes[p.name] == p.default for p in rest):
                if len(self) >= CACHE_SIZE:
                    self.clear()
                self[key] = Quick(call)
                return


def _binary(op: Primitive) -> Callable[[Any, Any], Any]:  # noqa: C901 (one hot frame)
    calls = _Calls(op)
    get = calls.get

    def long(a: Any, b: Any) -> Any:
        made = op.dispatch((a, b), {})
        if type(a) is Tensor and type(b) is Tensor:
            calls.learn((a.spec, b.spec), made, (a, b))
        elif type(a) is Tensor and type(b) in (int, float):
            calls.learn((a.spec, type(b)), made, (a, b))
        return made

    def binary(a: Any, b: Any) -> Any:  # noqa: C901
        if type(a) is not Tensor or a.view is not None or a.flags:
            return long(a, b)
        sa = a.storage
        sb: Any
        if type(b) is Tensor:
            if b.view is not None or b.flags:
                return long(a, b)
            quick = get((a.spec, b.spec))
            sb, eb = b.storage, b._edge
        else:
            quick = get((a.spec, type(b)))
            sb, eb = _number(b), None
        state = local.state
        if quick is None or state.inference:
            return long(a, b)
        if state.meter is not None:
            state.meter.charge(quick.call.nbytes)
        storage = Storage(quick.call.run(sa.array, sb.array))
        ea = a._edge
        if not state.grad or (ea is None and eb is None):
            return Tensor(storage, quick.spec, None)
        recipe, keep = quick.recipes[(ea is not None) + 2 * (eb is not None)]
        if recipe is None:
            return long(a, b)
        if keep == SECOND_FIRST:
            node = Node(recipe, (ea, eb), (b, a), (sb.version, sa.version), next_seq())
        elif keep == NOTHING:
            node = Node(recipe, (ea, eb), (), (), next_seq())
        elif keep == SECOND:
            node = Node(recipe, (ea, eb), (b,), (sb.version,), next_seq())
        elif keep == FIRST:
            node = Node(recipe, (ea, eb), (a,), (sa.version,), next_seq())
        elif keep == FIRST_SECOND:
            node = Node(recipe, (ea, eb), (a, b), (sa.version, sb.version), next_seq())
        else:
            return long(a, b)
        return Tensor(storage, quick.spec, node)

    return binary


class _number:
    """A Python number in the place of a storage."""

    __slots__ = ("array",)
    version = 0

    def __init__(self, value: Any) -> None:
        self.array = value


def _unary(op: Primitive, rest: tuple[Any, ...]) -> Callable[[Any], Any]:  # noqa: C901
    calls = _Calls(op)
    get, kernel = calls.get, op.kernel

    def long(a: Any) -> Any:
        made = op.dispatch((a,), {})
        if type(a) is Tensor:
            calls.learn(a.spec, made, (a,))
        return made

    def unary(a: Any) -> Any:
        if type(a) is not Tensor:
            xp = NAMESPACE_OF.get(type(a))
            return long(a) if xp is None else kernel(xp, a, *rest)
        quick = get(a.spec)
        state = local.state
        if quick is None or a.view is not None or a.flags or state.inference:
            return long(a)
        if state.meter is not None:
            state.meter.charge(quick.call.nbytes)
        storage = Storage(quick.call.run(a.storage.array))
        edge = a._edge
        if edge is None or not state.grad:
            return Tensor(storage, quick.spec, None)
        recipe, keep = quick.recipes[1]
        if recipe is None:
            return Tensor(storage, quick.spec, None)
        if keep == NOTHING:
            node = Node(recipe, (edge,), (), (), next_seq())
        elif keep == FIRST:
            node = Node(recipe, (edge,), (a,), (a.storage.version,), next_seq())
        elif keep == RESULT:
            node = Node(recipe, (edge,), (Tensor(storage, quick.spec, None),), (0,), next_seq())
        else:
            return long(a)
        return Tensor(storage, quick.spec, node)

    return unary
