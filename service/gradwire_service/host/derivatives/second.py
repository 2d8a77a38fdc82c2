"""Second derivatives of a scalar output: hessians, and their products with vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire_engine import functional
from gradwire_engine.errors import error
from gradwire_engine.ops.expand import reshape
from gradwire_engine.pullback import Pullback
from gradwire_service.host.derivatives.ask import Ask, Found
from gradwire_service.host.derivatives.products import Outputs
from gradwire_service.host.derivatives.whole import whole


def _scalar(ask: Ask, asked: str) -> Callable[..., Any]:
    """The program as a function of one result, which second derivatives are taken of."""
    if len(ask.program.outputs) != 1:
        raise error(
            "invalid_request",
            f"{asked}: the program has {len(ask.program.outputs)} outputs",
            "second derivatives are those of one output",
        )
    return lambda *values: ask.program(*values)[0]


def product(ask: Ask, asked: str) -> Found:
    """The hessian times a vector, or a vector times the hessian."""
    scalar, args = _scalar(ask, asked), ask.arguments
    moving = ask.directions("vector")

    def function(*moved: Any) -> Any:
        by_place = dict(zip(moving, moved, strict=True))
        return scalar(*[by_place.get(place, x) for place, x in enumerate(args)])

    multiply = functional.hvp if asked == "hvp" else functional.vhp
    y, found = multiply(
        function, tuple(args[place] for place in moving), tuple(moving.values()), ask.create_graph
    )
    return Found([y], ask.named(list(moving), found))


def hessian(ask: Ask) -> Found:
    """For each two inputs a tensor of the shape of both."""
    scalar, wrt = _scalar(ask, "hessian"), ask.wrt
    if not wrt:
        return Found(ask.program(*ask.arguments), {})

    def function(*values: Any) -> tuple[Any, Outputs]:
        y = scalar(*values)
        if y.spec.size != 1:
            raise error(
                "not_scalar",
                f"hessian: {ask.program.outputs[0]} has shape {list(y.shape)}",
                "reduce it with .sum() or .mean(), or take the jacobian of the gradient",
            )
        return reshape(y, ()), (y,)

    def gradient(*values: Any) -> tuple[Any, Outputs]:
        made = Pullback("hessian", function, values, wrt, has_aux=True)
        return tuple(made.pull(None)), tuple(made.aux or ())

    blocks, outputs = whole(ask, "hessian", gradient, lambda _: False)
    rows = [ask.named(wrt, row) for row in blocks]
    return Found(outputs, ask.named(wrt, rows))
