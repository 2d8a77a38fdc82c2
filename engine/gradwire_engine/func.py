"""Functions made of functions, with torch.func's names: grad, vjp, jvp, linearize.

Arguments and results are nests: tuples, lists and dicts of tensors. They compose with each other
and with vmap in any order, since each gives an ordinary function of values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire_engine import nest
from gradwire_engine.backward import grad_of_moving
from gradwire_engine.forward import push
from gradwire_engine.jacobians import hessian, jacfwd, jacobian, jacrev
from gradwire_engine.levels import fresh
from gradwire_engine.mode import enable_grad
from gradwire_engine.pullback import Argnums, Pullback, need_tensors, refusal
from gradwire_engine.reading import ones

__all__ = [
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
]

Function = Callable[..., Any]


def grad(function: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The gradient of a function with a scalar result, by the arguments that argnums say.

    has_aux: the function gives (result, aux), and so does its gradient.
    """
    both = grad_and_value(function, argnums, has_aux)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(function: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """The gradient of a function with a scalar result, and that result (with its aux)."""

    def both(*args: Any, **kwargs: Any) -> Any:
        made = Pullback("grad", function, args, argnums, has_aux, kwargs)
        _check_scalar(made)
        found = nest.filled(made.moved, iter(made.pull(None, retain_graph=None)))
        value = made.result
        made.close()
        return found, (value, nest.mapped(made.settled, made.aux)) if has_aux else value

    return both


def _check_scalar(made: Pullback) -> None:
    if made.outputs[0] is not made.raw:
        raise refusal("grad: the function must give a single tensor", "use vjp or jacrev")
    if made.raw.shape:
        raise refusal(
            f"grad: the function must give a scalar, it gave shape {list(made.raw.shape)}",
            "reduce it with sum() or mean(), or use vjp or jacrev",
            "not_scalar",
        )


def vjp(function: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The function's result, and a function from cotangents of it to a tuple of gradients."""
    made = Pullback("vjp", function, primals, None, has_aux)

    def pull(cotangents: Any) -> Any:
        _check_alike("vjp", "the results", made.raw, "the cotangents", cotangents)
        found = made.pull(nest.leaves(cotangents), retain_graph=True)
        return nest.filled(made.moved, iter(found))

    if has_aux:
        return made.result, pull, nest.mapped(made.settled, made.aux)
    return made.result, pull


def jvp(
    function: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """The function's result and its tangent, from arguments and their tangents, in one walk.

    strict: a result that doesn't depend on the arguments is an error, not a zero tangent.
    """
    if not isinstance(primals, tuple):
        raise refusal(f"jvp: primals is a {type(primals).__name__}", "give a tuple of arguments")
    _check_alike("jvp", "primals", primals, "tangents", tangents)
    flat, along = nest.leaves(primals), nest.leaves(tangents)
    need_tensors("jvp", "primals", flat)
    need_tensors("jvp", "tangents", along)
    moved = push("jvp", function, primals, flat, along, has_aux=has_aux)
    if strict and None in moved.tangents:
        raise refusal(
            f"jvp: result {moved.tangents.index(None)} doesn't depend on the arguments",
            "leave strict out to get zeros for its tangent",
        )
    found = moved.result, nest.filled(moved.result, iter(moved.full_tangents))
    return (*found, moved.aux) if has_aux else found


def _check_alike(asked: str, what: str, tree: Any, other: str, given: Any) -> None:
    if nest.mapped(lambda leaf: None, tree) != nest.mapped(lambda leaf: None, given):
        raise refusal(
            f"{asked}: {what} and {other} have different structures",
            "give one tensor for each, in the same tuples, lists and dicts",
        )


def linearize(function: Function, *primals: Any) -> tuple[Any, Function]:
    """The function's result, and the function from tangents to the result's tangent there.

    The function runs once: its gradient by variable cotangents is recorded, and each call of what
    is returned is a walk over that.
    """
    made = Pullback("linearize", function, primals)
    with enable_grad():
        weights = [fresh(ones(y.spec)) for y in made.outputs]
        linear = made.pull(weights, retain_graph=True)

    def along(*tangents: Any) -> Any:
        _check_alike("linearize", "primals", primals, "tangents", tangents)
        given = nest.leaves(tangents)
        _check_tangents(made.variables, given)
        found = grad_of_moving(linear, weights, given, retain_graph=True, materialize_grads=True)
        return nest.filled(made.raw, iter(found))

    return made.result, along


def _check_tangents(variables: Sequence[Any], tangents: Sequence[Any]) -> None:
    for index, (x, t) in enumerate(zip(variables, tangents, strict=True)):
        if type(t) not in (type(x),) and not hasattr(t, "spec"):
            raise refusal(f"linearize: tangent {index} is no tensor", "give a tensor")
        if (t.shape, t.dtype) != (x.shape, x.dtype):
            raise refusal(
                f"linearize: tangent {index} is {t.spec}, its primal {x.spec}",
                "they must have the same shape and dtype",
                "shape_mismatch",
            )
