"""What never changes, in tables of its own: specs, ops, calls, recipes.

A call is its op, by name and signature, with its arguments: it is worked out again when it is read,
so what this server's catalogue makes of it decides, and an op that it lacks is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakMethod

from gradwire_engine.call import Call
from gradwire_engine.errors import GradwireError
from gradwire_engine.function import ELSEWHERE
from gradwire_engine.function_rule import Application, Function, FunctionRecipe, Rule
from gradwire_engine.op import PRIMITIVES, Primitive
from gradwire_engine.promote import Weak
from gradwire_engine.recipe import Recipe
from gradwire_engine.signature import Mismatch
from gradwire_engine.snapshot.arrays import read_device, read_dtype, read_shape
from gradwire_engine.snapshot.fields import (
    at,
    flag,
    flags,
    incompatible,
    listed,
    named,
    need,
    text,
    whole,
)
from gradwire_engine.snapshot.parts import check_part
from gradwire_engine.snapshot.values import read_value, write_value
from gradwire_engine.spec import Spec

TABLES = ("specs", "ops", "calls", "recipes")
_FUNCTION = ("name", "backward", "materialize_grads", "once_differentiable", "inputs", "outputs",
             "needs", "arguments", "tensors", "saved")  # fmt: skip


class CallTables:
    """Rows for specs, ops, calls and recipes as they are met, each once."""

    def __init__(self, program: Callable[[Any], int]) -> None:
        self.rows: dict[str, list[Any]] = {name: [] for name in TABLES}
        self._known: dict[Any, int] = {}
        self._alive: list[Any] = []
        self._program = WeakMethod(program)  # of whoever holds these tables

    def _enter(self, table: str, key: Any, row: Callable[[], Any], held: Any) -> int:
        found = self._known.get((table, key))
        if found is None:
            made = row()
            self._alive.append(held)
            found = self._known[table, key] = len(self.rows[table])
            self.rows[table].append(made)
        return found

    def spec(self, spec: Spec) -> int:
        """The number of a spec."""
        row = [spec.dtype.name, spec.device, list(spec.shape)]
        return self._enter("specs", spec, lambda: row, None)

    def op(self, op: Primitive) -> int:
        """The number of an op."""
        return self._enter("ops", id(op), lambda: [op.name, str(op.signature)], op)

    def call(self, call: Call) -> int:
        """The number of a call; those in its arguments have smaller ones."""
        return self._enter("calls", id(call), lambda: self._call(call), call)

    def _call(self, call: Call) -> Any:
        arguments = [write_value(a, self._refer) for a in call.arguments]
        return [self.op(call.op), call.device, arguments]

    def _refer(self, value: Any) -> Any:
        if type(value) is Spec:
            return {"spec": self.spec(value)}
        if type(value) is Call:
            return {"call": self.call(value)}
        raise TypeError(f"an attribute of type {type(value).__name__} has no place in a snapshot")

    def recipe(self, recipe: Recipe) -> int:
        """The number of a recipe."""
        if type(recipe) is FunctionRecipe:
            return self._enter("recipes", id(recipe), lambda: self._function(recipe), recipe)
        row = [self.call(recipe.call), list(recipe.needs)]
        return self._enter("recipes", (row[0], recipe.needs), lambda: row, None)

    def _function(self, recipe: FunctionRecipe) -> dict[str, Any]:
        rule = recipe.steps[0].function
        program = self._program()
        assert type(rule) is Rule
        assert program is not None
        function = rule.function
        return {
            "name": function.name,
            "backward": program(function.backward),
            "materialize_grads": function.materialize_grads,
            "once_differentiable": function.once_differentiable,
            "inputs": list(map(self.spec, recipe.call.inputs)),
            "outputs": list(map(self.spec, recipe.call.outputs)),
            "needs": list(rule.needs),
            "arguments": list(rule.arguments),
            "tensors": list(rule.outputs),
            "saved": list(recipe.saved),
        }


class Calls:
    """The same read back. program: the callable of a row's number."""

    def __init__(self, data: dict[str, Any], program: Callable[[Any], Any]) -> None:
        self._program = program
        self.specs = [_spec(row) for row in listed(data["specs"], "specs")]
        self.ops = [_op(row) for row in listed(data["ops"], "ops")]
        self.calls: list[Call] = []
        for row in listed(data["calls"], "calls"):
            self.calls.append(self._call(row))
        self.recipes: list[Recipe] = []
        for row in listed(data["recipes"], "recipes"):
            self.recipes.append(self._recipe(row))
        del self._program  # whose owner holds this

    def spec(self, index: Any) -> Spec:
        """The spec of a number."""
        return at(self.specs, index, "the number of a spec")

    def call(self, index: Any) -> Call:
        """The call of a number."""
        return at(self.calls, index, "the number of a call")

    def recipe(self, index: Any) -> Recipe:
        """The recipe of a number."""
        return at(self.recipes, index, "the number of a recipe")

    def _refer(self, key: str, value: Any) -> Any:
        if key == "spec":
            return self.spec(value)
        if key == "call":
            return self.call(value)
        raise incompatible(f"an argument is an object with {key[:60]!r}")

    def _call(self, row: Any) -> Call:
        op_index, where, given = listed(row, "a call", 3)
        op: Primitive = at(self.ops, op_index, "the number of an op")
        device = read_device(where)
        given = listed(given, f"the arguments of {op.name}", op.signature.arity)
        arguments = tuple([read_value(item, self._refer) for item in given])
        _check_arguments(op, arguments, device)
        try:
            found = Call(op, arguments, device)
            check_part(found)
            return found
        except GradwireError as problem:
            raise incompatible(f"{op.name}: {problem.detail}") from problem
        except Exception as problem:  # its spec rule sees what no binding of arguments let pass
            raise incompatible(f"{op.name}: its arguments don't fit it") from problem

    def _recipe(self, row: Any) -> Recipe:
        if type(row) is dict:
            return self._function(named(row, "a custom function", *_FUNCTION))
        index, wanted = listed(row, "a recipe", 2)
        call, needs = self.call(index), flags(wanted, "what a node needs")
        need(len(needs) == len(call.inputs), f"{call.name} has another number of operands")
        for wants, spec in zip(needs, call.inputs, strict=True):
            fits = type(spec) is Spec and spec.dtype.differentiable
            need(not wants or fits, f"{call.name}: an operand of it can have no gradient")
        need(call.op.differentiable, f"{call.op.name} has no derivative")
        try:
            return call.recipe(needs)
        except Exception as problem:  # as above: a rule's static parameters
            raise incompatible(f"{call.name}: its arguments don't fit its rules") from problem

    def _function(self, row: dict[str, Any]) -> FunctionRecipe:
        function = Function(
            text(row["name"], "the name of a function"),
            self._program(row["backward"]),
            flag(row["materialize_grads"], "materialize_grads"),
            flag(row["once_differentiable"], "once_differentiable"),
        )
        inputs = [self.spec(i) for i in listed(row["inputs"], "a function's inputs")]
        outputs = [self.spec(i) for i in listed(row["outputs"], "a function's outputs")]
        arguments, tensors = flags(row["arguments"], "arguments"), flags(row["tensors"], "tensors")
        needs = flags(row["needs"], "what a function needs")
        saved = tuple([_place(p, inputs, outputs) for p in listed(row["saved"], "saved")])
        fits = len(needs) == sum(arguments) == len(inputs) and sum(tensors) == len(outputs) > 0
        need(fits, f"the function {function.name!r} has contradictory numbers of tensors")
        need(len({s.device for s in (*inputs, *outputs)}) == 1, "a function is on two devices")
        call = Application(function, inputs, outputs)
        return FunctionRecipe(call, Rule(function, call, needs, arguments, tensors), saved)


def _place(value: Any, inputs: list[Spec], outputs: list[Spec]) -> int:
    if value == ELSEWHERE:
        return ELSEWHERE
    return whole(value, "where a saved value comes from", -len(outputs), len(inputs))


def _spec(row: Any) -> Spec:
    dtype, device, shape = listed(row, "a spec", 3)
    return Spec(read_shape(shape), read_dtype(dtype), read_device(device))


def _op(row: Any) -> Primitive:
    name, signature = listed(row, "an op", 2)
    for op in PRIMITIVES.get(text(name, "the name of an op"), ()):
        if str(op.signature) == signature:
            return op
    raise incompatible(f"this server has no op {name}{str(signature)[:200]}")


def _check_arguments(op: Primitive, arguments: tuple[Any, ...], device: str) -> None:
    """Refuse operands that are none, and attributes of another kind than the signature's."""
    standing = list(arguments)
    for place in op.places:
        many = op.kinds[place] == "tensors"
        given = arguments[place] if many else (arguments[place],)
        need(type(given) is tuple, f"{op.name}: an operand is no list")
        for item in given:
            need(item is None or type(item) in (Spec, Weak), f"{op.name}: an operand is none")
            need(type(item) is not Spec or item.device == device, f"{op.name}: two devices")
        standing[place] = tuple([item and 0.0 for item in given]) if many else given[0] and 0.0
    count = op.signature.positional
    try:
        op.signature.bind(standing[:count], dict(zip(op.keywords, standing[count:], strict=True)))
    except Mismatch as problem:
        raise incompatible(f"{op.name}: {problem}") from problem
