"""The rule of a custom function's node: the user's backward program, held to what torch asks of it.

A node is the same data as any other: a call with specs, a recipe with one step. The step's function
is the program, with what is known of the function that it belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gradwire_engine.call import Call, Recipe, Span, Step
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.mode import local, no_grad
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.spec import Spec
from gradwire_engine.tape import Node, Program, next_seq
from gradwire_engine.tensor import Tensor


class Function(NamedTuple):
    """What a custom function is, apart from its forward.

    backward: from what was saved, then one gradient for each output, to one or None for each
    argument. materialize_grads: zeros where an output got no gradient, else None.
    once_differentiable: the backward is not recorded; differentiating its results is an error.
    """

    name: str
    backward: Program
    materialize_grads: bool = True
    once_differentiable: bool = False

    @property
    def node_name(self) -> str:
        return f"{self.name}Backward"


class _Op(NamedTuple):
    """What stands in an op's place in the call of a custom function."""

    name: str
    many: bool = False
    fills_in: bool = True
    refused: bool = False

    def takes_itself(self, operands: Sequence[Any], place: int) -> bool:
        """What a custom function keeps is what it was given."""
        return True


class Application(Call):
    """One use of a custom function. attributes: for pictures, which program is behind it."""

    def __init__(self, function: Function, inputs: Sequence[Spec], outputs: Sequence[Spec]) -> None:
        self.function = function
        self.op = _Op(function.name)  # type: ignore[assignment]
        self.name = function.node_name
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.single = len(outputs) == 1
        self.fills_in = function.materialize_grads
        self.device = outputs[0].device
        self.attributes = {"backward": function.backward.id}
        self.spans = [Span("args", 0, len(inputs), True)]
        self.nbytes = sum(spec.nbytes for spec in outputs)
        self.differentiable = True

    @property
    def counted(self) -> tuple[int, ...]:
        """All tensors among the arguments have a place."""
        return tuple(range(len(self.inputs)))

    @property
    def tracked(self) -> tuple[int, ...]:
        """So have all results."""
        return tuple(range(len(self.outputs)))


class FunctionRecipe(Recipe):
    """How its node is walked: one rule, the backward program, for all arguments."""

    def __init__(self, call: Application, rule: Rule, saved: tuple[int, ...]) -> None:
        self.call, self.needs, self.saved = call, rule.needs, saved
        outputs, targets = range(len(call.outputs)), range(len(call.inputs))
        arguments = tuple(range(len(saved)))
        function: Any = rule  # that a named tuple can be called is unknown to mypy
        self.steps = (Step(function, tuple(outputs), arguments, tuple(targets), True, None),)
        self.gradient_bytes = sum(
            spec.nbytes for spec, need in zip(call.inputs, rule.needs, strict=True) if need
        )
        self.gradient_flops = 0  # its program counts its own
        self.half = self.plain = self.simple = False


class Rule(NamedTuple):
    """The backward program as a node's rule.

    needs: which of the tensor arguments want a gradient. arguments, outputs: which are tensors.
    """

    function: Function
    call: Application
    needs: tuple[bool, ...]
    arguments: tuple[bool, ...]
    outputs: tuple[bool, ...]

    def __call__(self, *given: Any) -> list[Any]:
        """From gradients and what was saved, arrays or values, to gradients of the same kind."""
        count = len(self.call.outputs)
        values = any(type(item) in VALUE_TYPES for item in given)
        if not values:
            given = tuple([self._tensor(item) for item in given])
        gradients = iter(given[:count])
        every = [next(gradients) if tensor else None for tensor in self.outputs]
        found = self._run([*given[count:], *every], every)
        parts = [None if g is None else self._checked(i, g) for i, g in enumerate(self._own(found))]
        return parts if values else [g.array if type(g) is Tensor else g for g in parts]

    def _tensor(self, item: Any) -> Any:
        array = hasattr(item, "dtype") and hasattr(item, "shape")
        return Tensor.of(item, device=self.call.device) if array else item

    def _run(self, given: list[Any], gradients: Sequence[Any]) -> tuple[Any, ...]:
        backward = self.function.backward
        if not self.function.once_differentiable:
            return backward(*given)
        with no_grad():
            found = backward(*given)
        recorded = local.state.grad and any(g is not None and g.requires_grad for g in gradients)
        return tuple(map(_delayed, found)) if recorded else found

    def _own(self, found: tuple[Any, ...]) -> list[Any]:
        """Gradients of the arguments that are tensors, once their number is right."""
        wanted = len(self.arguments)
        if len(found) < wanted or any(g is not None for g in found[wanted:]):
            raise self._wrong(
                f"function {self.function.node_name} returned an incorrect number of gradients "
                f"(expected {wanted}, got {len(found)})"
            )
        for index, (tensor, g) in enumerate(zip(self.arguments, found, strict=False)):
            if not tensor and g is not None:
                raise self._wrong(
                    f"function {self.function.node_name} returned a gradient different than None "
                    f"at position {index + 1}, but the corresponding forward input was not a tensor"
                )
        return [g for tensor, g in zip(self.arguments, found, strict=False) if tensor]

    def _checked(self, index: int, g: Any) -> Any:
        """A gradient that can be brought to its argument's shape and dtype."""
        if not self.needs[index]:
            return None
        where = f"Function {self.function.node_name} returned an invalid gradient at index {index}"
        if type(g) not in VALUE_TYPES:
            raise self._wrong(f"{where} - expected a tensor or None, got {type(g).__name__}")
        spec = self.call.inputs[index]
        extra = len(g.shape) - len(spec.shape)
        if extra < 0 or any(
            n not in (1, have) for n, have in zip(spec.shape, g.shape[extra:], strict=True)
        ):
            raise self._wrong(
                f"{where} - got {list(g.shape)} but expected shape compatible with "
                f"{list(spec.shape)}"
            )
        if not g.dtype.is_floating_point and g.dtype.is_complex is not spec.dtype.is_complex:
            raise self._wrong(f"{where} - got {g.dtype.name} for an input of {spec.dtype.name}")
        return g

    def _wrong(self, detail: str) -> GradwireError:
        return error(
            "invalid_gradient",
            detail,
            "the backward gives one gradient, or null, for each argument of the forward",
        )


def _delayed(g: Any) -> Any:
    """A gradient that requires grad, and fails if it is differentiated."""
    if type(g) is not Tensor or not g.dtype.differentiable:
        return g
    call = Application(Function("DelayedError", Refuse()), [g.spec], [g.spec])
    rule = Rule(call.function, call, (True,), (True,), (True,))
    source = g.detach().requires_grad_()
    return g.alias(Node(FunctionRecipe(call, rule, ()), (source.edge,), (), (), next_seq()))


class Refuse:
    """The backward of what may be differentiated once only."""

    id = "once_differentiable"

    def __call__(self, *gradients: Any) -> tuple[Any, ...]:
        raise error(
            "requires_no_grad",
            "trying to differentiate twice a function that was marked as once_differentiable",
            "write its backward in ops and leave the mark away",
        )
