"""gradcheck and gradgradcheck: derivatives held against central differences, on the host."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradwire.autograd.walks import grad
from gradwire.tensor import Tensor
from gradwire.trace import Traced, trace
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.gradcheck import Entry
from gradwire_engine.mismatch import Tolerance


class GradcheckError(RuntimeError):
    """A derivative that differs from what differences give."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether a function's derivatives agree with differences of step eps, input by input.

    inputs: those that require grad are checked, and have to be in double precision for it to mean
    anything. |by rule - by differences| <= atol + rtol |by differences| passes. A failure raises,
    or gives False; it names output, input, their elements and both numbers. check_undefined_grad,
    check_grad_dtypes and masked are accepted: here rules can't give what they look for.
    """
    return _check(
        "gradcheck", func, inputs, raise_exception, eps=eps, atol=atol, rtol=rtol,
        nondet_tol=nondet_tol, check_batched_grad=check_batched_grad,
        check_batched_forward_grad=check_batched_forward_grad, check_forward_ad=check_forward_ad,
        check_backward_ad=check_backward_ad, fast_mode=fast_mode,
    )  # fmt: skip


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """The same for the gradients of gradients, at cotangents that the host draws.

    grad_outputs: cotangents instead, one for each output that requires grad; derivatives by them
    are checked too.
    """
    asked = "gradgradcheck"
    if grad_outputs is not None:
        asked, (func, inputs) = "gradcheck", _of_gradients(func, inputs, grad_outputs)
    return _check(
        asked, func, inputs, raise_exception, eps=eps, atol=atol, rtol=rtol,
        nondet_tol=nondet_tol, check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )  # fmt: skip


def _of_gradients(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """A function's gradients as a function, of its inputs and of cotangents; and those."""
    given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    listed = list(grad_outputs) if isinstance(grad_outputs, list | tuple) else [grad_outputs]
    cotangents = [g.detach().requires_grad_() for g in listed]

    def gradients(*args: Any) -> Any:
        made = func(*args[: len(given)])
        outputs = [made] if isinstance(made, Tensor) else list(made)
        outputs = [o for o in outputs if isinstance(o, Tensor) and o.requires_grad]
        wanted = [x for x in args[: len(given)] if isinstance(x, Tensor) and x.requires_grad]
        found = grad(outputs, wanted, args[len(given) :], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradients, [*given, *cotangents]


def _check(
    asked: str, func: Callable[..., Any], inputs: Any, raise_exception: bool, **said: Any
) -> bool:
    given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    wanted = [x for x in given if isinstance(x, Tensor) and x.requires_grad]
    if not wanted:
        raise ValueError(
            f"{asked} expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
    session = wanted[0].session
    _check_apart(asked, given)
    try:
        found = trace(func, given, session)
    except GradwireError as problem:
        if problem.code != "untraceable" or not _plain(said):
            raise
        wrong = _as_python(asked, func, given, said)
    else:
        wrong = _at_host(asked, func, given, found, said)
    if wrong is not None and raise_exception:
        raise GradcheckError(f"{asked}: {wrong}")
    return wrong is None


_NOT_DETERMINISTIC = (
    "the function is not deterministic: called again with the same inputs it did something else"
)


def _at_host(
    asked: str, func: Callable[..., Any], given: list[Any], found: Traced, said: dict[str, Any]
) -> str | None:
    """What is wrong with a function that was written down; None where nothing is."""
    session: Any = found.trace.outer
    inputs = found.trace.inputs
    values = {name: {"session": session.id, "tensor": tensor._name} for name, tensor in inputs}
    wrt = [name for name, t in inputs if any(t is x and x.requires_grad for x in given)]
    if not found.outputs:
        raise error("invalid_argument", f"{asked}: the function gives no tensor", "return one")
    if not _same(found, trace(func, given, session)):
        return _NOT_DETERMINISTIC
    body = {"program": found.body, "inputs": values, "wrt": wrt, **said}
    reply = session.transform(asked, body)
    for text in reply["warnings"]:
        warnings.warn(f"{asked}: {text}", UserWarning, stacklevel=4)
    if reply["ok"]:
        return None
    places = {name: i for i, x in enumerate(given) for name, t in inputs if t is x}
    first, second = found.body["outputs"], [f"the gradient of {name}" for name in wrt]
    return _told(reply, places, first if asked == "gradcheck" else second)


def _plain(said: dict[str, Any]) -> bool:
    """Whether only gradients are wanted, each by itself: what needs no function written down."""
    further = ("check_batched_grad", "check_batched_forward_grad", "check_forward_ad")
    return said["check_backward_ad"] and not any(said.get(name) for name in further)


def _as_python(
    asked: str, func: Callable[..., Any], given: list[Any], said: dict[str, Any]
) -> str | None:
    """Check a function that looks at values: it is called as Python for each evaluation.

    fast_mode is not one direction here: every element is looked at.
    """
    from gradwire.autograd.looking import Looking, worst

    tested = Looking(func, given)
    if asked == "gradgradcheck":
        tested = Looking(*_of_gradients(func, given, tested.cotangents()))
    if not tested.repeats(said["nondet_tol"]):
        return _NOT_DETERMINISTIC
    found = worst(asked, tested, said["eps"], Tolerance(said["atol"], said["rtol"]))
    return None if found is None or found.beyond <= 0 else _mismatch(found)


def _check_apart(asked: str, given: list[Any]) -> None:
    """Each element is moved by itself, so it has a place of its own."""
    for place, x in enumerate(given):
        if not isinstance(x, Tensor) or not x.requires_grad or not x.numel():
            continue
        if any(step == 0 and n > 1 for step, n in zip(x.stride(), x.shape, strict=True)):
            raise error(
                "invalid_argument",
                f"{asked}: several elements of input {place} share one place in memory",
                "give contiguous() of it",
                raised=RuntimeError,
            )


def _same(a: Traced, b: Traced) -> bool:
    """Whether two calls were written down alike, with numbers that are alike."""
    if a.body != b.body:
        return False
    pairs = zip(a.args, b.args, strict=True)
    return all(x is y or np.array_equal(x._read(), y._read(), equal_nan=True) for x, y in pairs)


def _told(reply: dict[str, Any], inputs: dict[str, int], outputs: list[str]) -> str:
    """A failure in words; outputs and inputs by their places, as the function's caller has them."""
    worst = reply["worst"]
    if worst is None:
        found: str = reply["reason"].removeprefix("gradcheck: ")
        return found
    at, numbers = worst["index"], (worst["numerical"], worst["analytical"])
    output, input = outputs.index(worst["output"]), inputs.get(worst["input"], worst["input"])
    return _mismatch(Entry(input, output, at["input"], at["output"], *numbers, 0.0))


def _mismatch(at: Entry) -> str:
    return (
        f"Jacobian mismatch for output {at.output} with respect to input {at.input}, at "
        f"{at.at_output} of the output and {at.at_input} of the input\n"
        f"numerical:  {at.numerical}\nanalytical: {at.analytical}"
    )


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
