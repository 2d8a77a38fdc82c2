"""torch.autograd.functional: products with, and whole, Jacobians and Hessians of a function.

Functions take tensors and give a tensor or a tuple of them. `inputs` and `v` are a tensor or a
tuple, and results come in the same form. strict: independence of an input is an error, not a zero.
create_graph: results can be differentiated. Conditions and classes of errors are torch's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire_engine.backward import grad_of_moving
from gradwire_engine.forward import push
from gradwire_engine.jacobians import columns, rows, zeros_between
from gradwire_engine.levels import fresh
from gradwire_engine.mode import enable_grad, local, set_grad_enabled
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.join import stack
from gradwire_engine.ops.views import select
from gradwire_engine.pullback import leads_to, refusal
from gradwire_engine.reading import ones
from gradwire_engine.strictness import (
    Values,
    as_given,
    as_tuple,
    check_dependent,
    check_lone,
    check_scalar,
    check_v,
    filled,
    independent,
    released,
)

Function = Callable[..., Any]
FORWARD, REVERSE = "forward-mode", "reverse-mode"


class _Run:
    """A function run on variables made of the inputs, and what it gave."""

    def __init__(
        self, asked: str, function: Function, inputs: Any, create_graph: bool, strict: bool
    ) -> None:
        self.asked, self.function = asked, function
        self.create_graph, self.strict = create_graph, strict
        self.several_inputs, given = as_tuple(asked, "inputs", inputs)
        self.inputs = _variables(given, create_graph)

    def directions(self, v: Any) -> Values:
        """v for a product by the inputs; 1 where there is but one number."""
        if v is None:
            check_lone(self.asked, self.inputs, "the input")
            return tuple(ones(x.spec) for x in self.inputs)
        along = _constants(v, self.asked, self.create_graph)
        check_v(self.asked, along, self.inputs, self.several_inputs)
        return along

    def go(self) -> Values:
        """Run the function; its results."""
        result = self.function(*self.inputs)
        self.several, self.outputs = as_tuple(self.asked, "the function's result", result)
        check_dependent(self.asked, self.strict, self.outputs, "output")
        return self.outputs

    def gradient(self) -> Values:
        """Run a scalar function; its recorded gradient, None for what it doesn't depend on."""
        self.go()
        check_scalar(self.asked, self.several, self.outputs)
        found = _grad(self.outputs, self.inputs, create_graph=True)
        check_dependent(self.asked, self.strict, found, "the gradient by input")
        return found


def _variables(values: Values, create_graph: bool) -> Values:
    return tuple(fresh(x, tracked=create_graph) for x in values)


def _constants(v: Any, asked: str, create_graph: bool) -> Values:
    """v, whose history counts only if the results may be differentiated."""
    return released(create_graph, as_tuple(asked, "v", v)[1])


def _grad(
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    v: Sequence[Any] | None = None,
    **options: bool,
) -> Values:
    """The gradients of those outputs that require grad; None where there is nothing."""
    given = [None] * len(outputs) if v is None else v
    return tuple(grad_of_moving(outputs, inputs, given, allow_unused=True, **options))


def vjp(
    function: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's result, and the product of v with its Jacobian: (outputs, like inputs)."""
    with enable_grad():
        run = _Run("vjp", function, inputs, create_graph, strict)
        run.go()
        if v is None:
            check_lone("vjp", run.outputs, "the result")
        else:
            v = _constants(v, "vjp", create_graph)
            check_v("vjp", v, run.outputs, run.several)
    with set_grad_enabled(create_graph or local.state.grad):
        found = _grad(run.outputs, run.inputs, v, create_graph=create_graph)
        found = filled("vjp", found, run.inputs, strict, create_graph, ("output", "input"))
    return _both(run.several, run.outputs, run.several_inputs, found, create_graph)


def _both(
    several: bool, outputs: Values, alike: bool, found: Sequence[Any], create_graph: bool
) -> tuple[Any, Any]:
    return (
        as_given(several, released(create_graph, outputs)),
        as_given(alike, released(create_graph, found)),
    )


def jvp(
    function: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's result, and the product of its Jacobian with v, in one forward walk."""
    with enable_grad():
        run = _Run("jvp", function, inputs, create_graph, strict)
        primals, along = run.inputs, run.directions(v)
        pushed = push("jvp", function, primals, primals, along, tensors_only=False)
        several, outputs = as_tuple("jvp", "the function's result", pushed.result)
        check_dependent("jvp", strict, outputs, "output")
        for index, x in enumerate(primals if strict else ()):
            if not leads_to(outputs, x):
                raise independent("jvp", f"the output is independent of input {index}")
        what = ("tangent", "output")
        found = filled("jvp", pushed.tangents, outputs, strict, create_graph, what)
    return _both(several, outputs, several, found, create_graph)


def vhp(
    function: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """A scalar function's result, and the product of v with its Hessian: (output, like inputs)."""
    with enable_grad():
        run = _Run("vhp", function, inputs, create_graph, strict)
        along = run.directions(v)
        gradient = run.gradient()
    with set_grad_enabled(create_graph or local.state.grad):
        found = _grad(gradient, run.inputs, along, create_graph=create_graph)
        found = filled("vhp", found, run.inputs, strict, create_graph, ("gradient", "input"))
    return _both(False, run.outputs, run.several_inputs, found, create_graph)


def hvp(
    function: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """A scalar function's result, and the product of its Hessian with v: (output, like inputs).

    The gradient's gradient by variable cotangents is linear in them; its own gradient, with v, is
    the product.
    """
    with enable_grad():
        run = _Run("hvp", function, inputs, create_graph, strict)
        along = run.directions(v)
        gradient = run.gradient()
        weights = _variables(tuple(ones(x.spec) for x in run.inputs), False)
        back = _grad(gradient, run.inputs, weights, create_graph=True)
    with set_grad_enabled(create_graph or local.state.grad):
        found = _grad(back, weights, along, create_graph=create_graph)
        what = ("hessian", "row")
        found = filled("hvp", found, run.inputs, strict, create_graph, what)
    return _both(False, run.outputs, run.several_inputs, found, create_graph)


def jacobian(
    function: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = REVERSE,
) -> Any:
    """The Jacobian: for each output and input a tensor of shape (*output, *input).

    vectorize: all rows (or, by forward mode, columns) in one batched walk.
    """
    if strategy not in (FORWARD, REVERSE):
        raise _bad_strategy("jacobian", strategy)
    if strategy == FORWARD:
        return _by_columns(function, inputs, create_graph, strict, vectorize)
    with enable_grad():
        run = _Run("jacobian", function, inputs, create_graph, strict)
        run.go()
        if vectorize and strict:
            raise refusal(
                "jacobian: strict and vectorize are not supported together",
                "leave one of them out",
            )
        if vectorize:
            blocks = rows(run.outputs, run.inputs, create_graph)
        else:
            blocks = [_one_by_one(y, run.inputs, create_graph) for y in run.outputs]
        for index, found in enumerate(blocks):
            _check_rows(found, index, strict, create_graph)
        full = [
            [zeros_between(y, x) if b is None else b for b, x in zip(row, run.inputs, strict=True)]
            for y, row in zip(run.outputs, blocks, strict=True)
        ]
    given = [as_given(run.several_inputs, released(create_graph, row)) for row in full]
    return as_given(run.several, given)


def _one_by_one(y: Any, inputs: Values, create_graph: bool) -> list[Any]:
    """The Jacobian of one output by a walk for each of its elements."""
    flat = reshape(y, (-1,))
    walks = [
        _grad([select(flat, 0, i)], inputs, create_graph=create_graph, retain_graph=True)
        for i in range(y.spec.size)
    ]
    columns = list(zip(*walks, strict=True)) or [(None,)] * len(inputs)
    return [
        None if column[0] is None else reshape(stack(column, 0), (*y.shape, *x.shape))
        for column, x in zip(columns, inputs, strict=True)
    ]


def _check_rows(blocks: Sequence[Any], output: int, strict: bool, create_graph: bool) -> None:
    for index, block in enumerate(blocks if strict else ()):
        if block is None:
            raise independent("jacobian", f"output {output} is independent of input {index}")
        if create_graph and not block.requires_grad:
            raise independent("jacobian", f"the jacobian by input {index} is a constant")


def _bad_strategy(asked: str, strategy: Any) -> Exception:
    return refusal(
        f"{asked}: the strategy is {strategy!r}",
        f'it must be "{FORWARD}", for more outputs than inputs, or "{REVERSE}"',
        raised=AssertionError,
    )


def _by_columns(
    function: Function, inputs: Any, create_graph: bool, strict: bool, vectorize: bool
) -> Any:
    if create_graph:
        raise refusal(
            f"jacobian: create_graph and {FORWARD} are not supported together",
            f"leave create_graph out, or use {REVERSE}",
            raised=NotImplementedError,
        )
    if strict:
        raise refusal(
            f"jacobian: strict and {FORWARD} are not supported together",
            f"leave strict out, or use {REVERSE}",
        )
    if not vectorize:
        raise refusal(
            f"jacobian: {FORWARD} is only there for vectorize=True",
            "pass vectorize=True",
            raised=NotImplementedError,
        )
    several_inputs, primals = as_tuple("jacobian", "inputs", inputs)
    pushed, blocks = columns(
        primals,
        lambda along: push("jacobian", function, primals, primals, along, tensors_only=False),
    )
    several, _ = as_tuple("jacobian", "the function's result", pushed.result)
    return as_given(several, [as_given(several_inputs, row) for row in blocks])


def hessian(
    function: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = REVERSE,
) -> Any:
    """The Hessian of a function with a scalar result: for each two inputs (*input, *input)."""
    several, _ = as_tuple("hessian", "inputs", inputs)
    if outer_jacobian_strategy not in (FORWARD, REVERSE):
        raise _bad_strategy("hessian", outer_jacobian_strategy)

    def scalar(*given: Any) -> Any:
        outputs_are_several, outputs = as_tuple(
            "hessian", "the function's result", function(*given)
        )
        check_dependent("hessian", strict, outputs, "output")
        check_scalar("hessian", outputs_are_several, outputs)
        return reshape(outputs[0], ())

    def gradient(*given: Any) -> Any:
        found = jacobian(scalar, given, create_graph=True)
        check_dependent("hessian", strict, found, "the gradient by input")
        return found

    found = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    if several:
        return found
    return found[0]
