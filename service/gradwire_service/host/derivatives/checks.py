"""gradcheck and gradgradcheck of a program: its derivatives beside central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np

from gradwire_engine.consistency import SEED, check_repeats, random
from gradwire_engine.differences import Tested, like
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.gradcheck import furthest, gradcheck, gradgradcheck
from gradwire_engine.levels import leaf
from gradwire_engine.mismatch import Tolerance
from gradwire_engine.pullback import Pullback
from gradwire_engine.spec import complex128, float64
from gradwire_engine.tensor import Tensor
from gradwire_service.host.derivatives.ask import Ask
from gradwire_service.host.derivatives.products import differentiable
from gradwire_service.host.protocol.transforms import GradcheckInputs
from gradwire_service.host.reply import Reply, plain


class Named(NamedTuple):
    """A function to check: its arguments with their names, and the names of its results."""

    function: Callable[..., Sequence[Any]]
    arguments: Sequence[Tensor]
    inputs: Sequence[str]
    outputs: Sequence[str]


def check(transform: str, ask: Ask, said: GradcheckInputs) -> Reply:
    """Whether the derivative agrees with differences of step eps, and where it does least.

    An entry passes if |analytical - numerical| <= atol + rtol |numerical|.
    """
    if not ask.wrt:
        raise error(
            "requires_no_grad",
            f"{transform}: none of the inputs is floating or complex",
            "there is nothing to differentiate by",
        )
    warnings = [
        f"{ask.program.inputs[place]} is {ask.inputs[place].dtype.name}; differences of such "
        "numbers are too coarse, use float64 or complex128"
        for place in ask.wrt
        if ask.inputs[place].dtype not in (float64, complex128)
    ]
    first = _first(ask)
    reply: Reply = {"ok": True, "worst": None, "reason": None}
    try:
        check_repeats(Tested(first.function, first.arguments), said.nondet_tol)
        if said.check_backward_ad and not said.fast_mode:
            named = _second(ask, first) if transform == "gradgradcheck" else first
            reply = _compared(named, said.eps, Tolerance(said.atol, said.rtol))
        if reply["ok"]:
            _check_more(transform, first, said)
    except GradwireError as problem:
        if problem.code != "invalid_gradient":
            raise
        reply = {"ok": False, "worst": None, "reason": problem.detail}
    return reply | {"warnings": warnings}


def _check_more(transform: str, named: Named, said: GradcheckInputs) -> None:
    """What only the engine's own check looks at; it raises."""
    wished = {"check_batched_grad": said.check_batched_grad, "fast_mode": said.fast_mode}
    if transform == "gradcheck":
        wished |= {
            "check_forward_ad": said.check_forward_ad,
            "check_batched_forward_grad": said.check_batched_forward_grad,
        }
    elif said.check_forward_ad:
        wished["check_fwd_over_rev"] = True
    if not any(wished.values()):
        return
    run = gradcheck if transform == "gradcheck" else gradgradcheck
    if transform == "gradcheck":
        wished["check_backward_ad"] = said.check_backward_ad
    with catch_warnings():
        simplefilter("ignore")  # the reply has them
        run(
            lambda *xs: tuple(named.function(*xs)),
            tuple(named.arguments),
            eps=said.eps,
            atol=said.atol,
            rtol=said.rtol,
            nondet_tol=said.nondet_tol,
            **wished,
        )


def _first(ask: Ask) -> Named:
    """The program, by the inputs to differentiate by, as a function of all of them."""
    values = [leaf(x) if i in ask.wrt else x.detach() for i, x in enumerate(ask.inputs)]
    outputs = ask.program(*values)
    pairs = zip(ask.program.outputs, outputs, strict=True)
    names = [name for name, y in pairs if y.dtype.differentiable]
    return Named(lambda *xs: differentiable(ask)(*xs)[0], values, ask.program.inputs, names)


def _second(ask: Ask, first: Named) -> Named:
    """Its gradient, as a function of the inputs and of cotangents, which are drawn here."""
    count, rng = len(first.arguments), np.random.default_rng(SEED)
    drawn = [leaf(like(y, random(rng, y.numpy()))) for y in first.function(*first.arguments)]

    def gradient(*args: Any) -> Sequence[Any]:
        made = Pullback("gradgradcheck", lambda *xs: tuple(first.function(*xs)), args[:count],
                        ask.wrt)  # fmt: skip
        return made.pull(args[count:])

    return Named(
        gradient,
        [*first.arguments, *drawn],
        [*first.inputs, *(f"the cotangent of {name}" for name in first.outputs)],
        [f"the gradient of {ask.program.inputs[place]}" for place in ask.wrt],
    )


def _compared(named: Named, eps: float, tolerance: Tolerance) -> Reply:
    """Every entry of every Jacobian, by the rules and by differences; the worst of them."""
    found = furthest(Tested(named.function, named.arguments), eps, tolerance)
    if found is None:
        return {"ok": True, "worst": None, "reason": None}
    worst = {
        "input": named.inputs[found.input],
        "output": named.outputs[found.output],
        "index": {"output": found.at_output, "input": found.at_input},
        "numerical": _number(found.numerical),
        "analytical": _number(found.analytical),
    }
    return {"ok": found.beyond <= 0, "worst": worst, "reason": None}


def _number(value: Any) -> Reply:
    found = complex(value)
    if np.iscomplexobj(value):
        return [plain(found.real), plain(found.imag)]
    return plain(found.real)
