"""gradcheck and gradgradcheck: derivatives held against central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from warnings import warn

import numpy as np

from gradwire_engine.backward import grad_of_moving
from gradwire_engine.consistency import (
    SEED,
    check_batched,
    check_batched_forward,
    check_gradients,
    check_repeats,
    random,
)
from gradwire_engine.differences import Host, Tested, by_columns, like, product, walked
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.mismatch import Tolerance, compare, failed, where
from gradwire_engine.spec import complex128, float64
from gradwire_engine.tensor import Tensor

Function = Callable[..., Any]


def gradcheck(
    function: Function,
    inputs: Any,
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
    """Whether a function's derivatives agree with central differences of step eps.

    inputs: a tensor or a tuple; those that require grad are checked, and have to be in double
    precision for it to mean anything. |by rule - by differences| <= atol + rtol |by differences|
    passes. nondet_tol: how far a second run may be off. fast_mode: one random direction instead of
    all elements. masked: for torch's sake; it is about sparse tensors. A failure raises, or gives
    False; it names output, input, their elements and both numbers.
    """
    _check_wishes(
        check_forward_ad, check_backward_ad, check_batched_grad, check_batched_forward_grad
    )
    tested = Tested(function, inputs if isinstance(inputs, (tuple, list)) else (inputs,))
    _check_inputs(tested)
    tolerance = Tolerance(atol, rtol)
    try:
        check_repeats(tested, nondet_tol)
        if check_backward_ad:
            _agrees(tested, eps, tolerance, fast_mode, forward=False)
            check_gradients(tested, nondet_tol, check_grad_dtypes, check_undefined_grad)
        if check_batched_grad:
            check_batched(tested, tolerance)
        if check_forward_ad:
            _agrees(tested, eps, tolerance, fast_mode, forward=True)
        if check_batched_forward_grad:
            check_batched_forward(tested, tolerance)
    except GradwireError as failure:
        if raise_exception or failure.code != "invalid_gradient":
            raise
        return False
    return True


def gradgradcheck(
    function: Function,
    inputs: Any,
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
    """gradcheck of the gradient, as a function of the inputs and of its cotangents.

    grad_outputs: the cotangents; left out, random ones. gen_non_contig_grad_outputs: in an order
    that is not row-major.
    """
    given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    tested = Tested(function, given)
    _check_inputs(tested)
    if grad_outputs is None:
        cotangents = _random_cotangents(tested, gen_non_contig_grad_outputs)
    else:
        several = isinstance(grad_outputs, (tuple, list))
        cotangents = list(grad_outputs) if several else [grad_outputs]

    def gradient(*args: Any) -> tuple[Any, ...]:
        leaves, weights = args[: len(given)], args[len(given) :]
        again = Tested(function, leaves)
        outputs = again.run([leaves[place] for place in again.places])
        wanted = [leaves[place] for place in tested.places]
        found = grad_of_moving(outputs, wanted, weights, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradient,
        (*given, *cotangents),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_cotangents(tested: Tested, askew: bool) -> list[Tensor]:
    rng = np.random.default_rng(SEED)
    outputs = tested.run(tested.leaves())
    drawn = [random(rng, y.numpy()) for y in outputs]
    if askew:
        drawn = [np.array(a, order="F") for a in drawn]
    return [like(y, a).requires_grad_() for y, a in zip(outputs, drawn, strict=True)]


# what is asked, and of what


def _check_wishes(forward: bool, backward: bool, batched: bool, batched_forward: bool) -> None:
    wrong = (
        (not (forward or backward), "one of check_forward_ad and check_backward_ad must be true"),
        (batched and not backward, "check_batched_grad needs check_backward_ad"),
        (batched_forward and not forward, "check_batched_forward_grad needs check_forward_ad"),
    )
    for is_wrong, rule in wrong:
        if is_wrong:
            raise error("invalid_argument", f"gradcheck: {rule}", raised=AssertionError)


def _check_inputs(tested: Tested) -> None:
    if not tested.places:
        raise error(
            "requires_no_grad",
            "gradcheck: none of the inputs is a tensor that requires grad",
            "set requires_grad on those to check",
            raised=ValueError,
        )
    for place in tested.places:
        x = tested.inputs[place]
        if x.dtype not in (float64, complex128):
            warn(
                f"gradcheck: input {place} is {x.dtype.name}; differences of such numbers are too "
                "coarse, use float64 or complex128",
                stacklevel=3,
            )
        if x.spec.size and any(s == 0 and n > 1 for s, n in zip(x.strides, x.shape, strict=True)):
            raise error(
                "invalid_argument",
                f"gradcheck: several elements of input {place} share one place in memory",
                "clone() it: each element is moved by itself",
            )


# against differences


def _agrees(tested: Tested, eps: float, tolerance: Tolerance, fast: bool, forward: bool) -> None:
    """Hold all Jacobians by one mode against differences; of a fast check, where it fails."""
    if fast and _fast_agrees(tested, eps, tolerance, forward):
        return
    rows = [] if forward else tested.rows()
    mode = "forward mode" if forward else "reverse mode"
    for number, place in enumerate(tested.places):
        columns = by_columns(tested, number, tested.tangents) if forward else []
        for index, wanted in enumerate(by_columns(tested, number, tested.differences(eps))):
            shapes = _shapes(tested, index, number)
            found = columns[index] if forward else rows[index][number]
            compare(mode, index, place, shapes, found, wanted, tolerance)
    if fast:
        raise failed(
            "a random direction's derivative is wrong, though each element's by itself is within "
            "the tolerance",
            "leave fast_mode out, or look for values near a kink",
        )


class Entry(NamedTuple):
    """An entry of a Jacobian, by rules and by differences; input and output by their numbers.

    beyond: by how much it fails; not above 0 where it passes.
    """

    input: int
    output: int
    at_input: list[int]
    at_output: list[int]
    numerical: Any
    analytical: Any
    beyond: float


def furthest(tested: Tested, eps: float, tolerance: Tolerance) -> Entry | None:
    """The entry of all Jacobians by reverse mode that is furthest off; None if there is none."""
    rows = tested.rows()
    found: Entry | None = None
    for number, place in enumerate(tested.places):
        for index, numerical in enumerate(by_columns(tested, number, tested.differences(eps))):
            analytical = rows[index][number]
            beyond = tolerance.exceeded(analytical, numerical)
            if not beyond.size or (found is not None and beyond.max() <= found.beyond):
                continue
            at = np.unravel_index(int(beyond.argmax()), beyond.shape)
            out, point = _shapes(tested, index, number)
            here = where(point, int(at[2])), where(out, int(at[0]))
            numbers = numerical[at], analytical[at]
            found = Entry(place, index, *here, *numbers, float(beyond.max()))
    return found


def _shapes(tested: Tested, index: int, number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    output = tested.run(tested.leaves())[index]
    return output.shape, tested.points[number].shape


def _fast_agrees(tested: Tested, eps: float, tolerance: Tolerance, forward: bool) -> bool:
    """Whether one random direction for each input agrees, weighed by one for each output."""
    rng = np.random.default_rng(SEED)
    leaves = tested.leaves()
    outputs = tested.run(leaves)
    weights = [random(rng, y.numpy()) for y in outputs]
    for number, point in enumerate(tested.points):
        directions: list[Host | None] = [None] * len(tested.points)
        direction = directions[number] = random(rng, point)
        changes = tested.differences(eps)(directions)
        tangents = tested.tangents(directions) if forward else changes
        for y, w, change, tangent in zip(outputs, weights, changes, tangents, strict=True):
            wanted = product([w], [change])
            back = None if forward else walked([y], leaves, [w])[number]
            found = product([w], [tangent]) if back is None else product([back], [direction])
            scale = float(np.abs(w).sum() * np.abs(direction).sum())
            allowed = tolerance._replace(atol=tolerance.atol * scale)
            if allowed.exceeded(np.array(found), np.array(wanted)) > 0:
                return False
    return True
