"""gradcheck passes what is right and finds planted faults, saying where they are."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.engine.calls import leaf, op, plain

from gradwire_engine.arrays import Array
from gradwire_engine.errors import GradwireError
from gradwire_engine.families import elementwise, primitive
from gradwire_engine.gradcheck import gradcheck, gradgradcheck
from gradwire_engine.ops.arithmetic import conj, mul
from gradwire_engine.ops.views import select
from gradwire_engine.rule import vjp
from gradwire_engine.tensor import Tensor

pytestmark = pytest.mark.usefixtures("each_library")

RNG = np.random.default_rng(4)


def real(*shape: int) -> Tensor:
    return leaf(np.random.default_rng(sum(shape) + 1).uniform(0.3, 1.2, shape))


def complex_(*shape: int) -> Tensor:
    rng = np.random.default_rng(sum(shape) + 2)
    return leaf(rng.uniform(0.3, 1, shape) + 1j * rng.uniform(0.3, 1, shape), dtype="complex128")


RIGHT: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Tensor, ...]]]] = {
    "product": (lambda x, y: op("mul", x, y), lambda: (real(2, 3), real(3))),
    "several results": (lambda x: (op("sin", x), op("sum", x)), lambda: (real(3),)),
    "complex": (lambda x, y: op("mul", op("exp", x), y), lambda: (complex_(2), complex_(2))),
    "real of complex": (lambda x: op("abs", x), lambda: (complex_(3),)),
    "complex of real": (lambda x, y: op("complex", x, op("sin", y)), lambda: (real(2), real(2))),
    "real and complex": (lambda x, y: op("mul", x, y), lambda: (real(2), complex_(2))),
    "linalg": (lambda x: op("linalg.inv", x), lambda: (real(3, 3),)),
    "independent": (lambda x, y: op("sin", x), lambda: (real(2), real(2))),
    "a loose number": (lambda x: op("sum", x) * 2, lambda: (real(),)),
    "no elements": (lambda x: op("sin", x), lambda: (real(0, 2),)),
}
EVERYTHING: dict[str, Any] = {
    "check_forward_ad": True,
    "check_batched_grad": True,
    "check_batched_forward_grad": True,
    "check_grad_dtypes": True,
}


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes(name: str, fast_mode: bool) -> None:
    function, inputs = RIGHT[name]
    assert gradcheck(function, inputs(), fast_mode=fast_mode, **EVERYTHING)
    second = {"check_fwd_over_rev": True, "check_batched_grad": True, "fast_mode": fast_mode}
    assert gradgradcheck(function, inputs(), **second)


@elementwise(vjp(input=lambda g, input: g * input * 3), public=False, name="wrong_factor")
def wrong_factor(xp: Any, input: Array) -> Array:
    """A square whose rule has a wrong factor."""
    return input * input


@elementwise(
    vjp(input=lambda g, other: g * other, other=lambda g, input: g * conj(input)),
    public=False,
    name="missing_conj",
)
def missing_conj(xp: Any, input: Array, other: Array) -> Array:
    """A product whose rule forgets to conjugate."""
    return xp.multiply(input, other)


@primitive(
    vjp(input=lambda g: select(g, 0, 0), other=lambda g: g),
    spec=lambda input, other: other,
    public=False,
    name="forgotten_broadcast",
)
def forgotten_broadcast(xp: Any, input: Array, other: Array) -> Array:
    """A row added to a matrix, whose rule takes one row's gradient for the sum over all."""
    return xp.add(input, other)


@elementwise(
    vjp(
        input=lambda g, second, third: g * second * third,
        second=lambda g, input, third: g * input * third,
        third=lambda g, input, second: g * input * second * second,
    ),
    public=False,
    name="one_of_three",
)
def one_of_three(xp: Any, input: Array, second: Array, third: Array) -> Array:
    """A product of three whose last rule is wrong."""
    return input * second * third


@elementwise(vjp(input=lambda g: g), public=False, name="unsteady")
def unsteady(xp: Any, input: Array) -> Array:
    """The input with noise on it."""
    return input + 1e-3 * RNG.random()


@elementwise(vjp(input=lambda g: g * (1 + 1e-7 * RNG.random())), public=False, name="unsteady_rule")
def unsteady_rule(xp: Any, input: Array) -> Array:
    """The input; its rule has noise on it, far below what differences can tell."""
    return input * 1


@elementwise(vjp(input=lambda g: g + 1e-7), public=False, name="not_linear")
def not_linear(xp: Any, input: Array) -> Array:
    """The input; its rule gives something for nothing."""
    return input * 1


def report(function: Callable[..., Any], *inputs: Tensor, **options: Any) -> str:
    """What a failing check says; it gives False where it must not raise."""
    with pytest.raises(GradwireError) as problem:
        gradcheck(function, inputs, **options)
    assert problem.value.code == "invalid_gradient"
    assert isinstance(problem.value, RuntimeError)
    assert gradcheck(function, inputs, raise_exception=False, **options) is False
    return str(problem.value)


MODES: list[dict[str, Any]] = [
    {},
    {"fast_mode": True},
    {"check_backward_ad": False, "check_forward_ad": True},
    {"check_backward_ad": False, "check_forward_ad": True, "fast_mode": True},
]
modes = pytest.mark.parametrize("mode", MODES, ids=str)


@modes
def test_a_wrong_factor_is_found(mode: dict[str, Any]) -> None:
    text = report(wrong_factor, leaf([[0.5, 1.0]]), **mode)
    assert "output 0 by input 0, in 2 of 4 entries" in text
    assert "output element [0, 1] by input element [0, 1]" in text
    assert re.search("it gives 3.0, differences give (2.0|1.99999)", text)
    assert "off by a factor of 1.5" in text


@modes
def test_a_missing_conj_is_found(mode: dict[str, Any]) -> None:
    text = report(missing_conj, complex_(2), complex_(2), **mode)
    assert "is wrong for output 0 by input 0" in text
    assert "part)" in text
    assert gradcheck(missing_conj, (real(2), real(2)), **mode)


@modes
def test_a_forgotten_broadcast_is_found(mode: dict[str, Any]) -> None:
    text = report(forgotten_broadcast, real(3), real(2, 3), **mode)
    assert "output 0 by input 0, in 3 of 18 entries" in text
    assert "output element [1, 0] by input element [0]" in text
    assert "gives 0.0, differences give " in text


@modes
def test_a_rule_that_is_wrong_for_one_input_of_three_is_found(mode: dict[str, Any]) -> None:
    text = report(one_of_three, leaf([1.0, 2.0]), leaf([3.0, 1.0]), leaf([1.0, 1.0]), **mode)
    assert "output 0 by input 2, in 1 of 4 entries" in text
    assert "output element [0] by input element [0] it gives 9.0, differences give " in text


def test_the_fault_is_named_among_several_outputs() -> None:
    both = lambda x, y: (mul(x, y), one_of_three(x, x, y))  # noqa: E731
    text = report(both, leaf([2.0]), leaf([3.0]))
    assert "output 1 by input 1" in text


def test_a_function_that_is_not_deterministic_is_found() -> None:
    text = report(unsteady, leaf([1.0, 2.0]))
    assert "output 0 is not deterministic: at element [" in text
    assert "and then" in text
    text = report(unsteady_rule, leaf([1.0, 2.0]))
    assert "the gradient by input 0 is not deterministic" in text
    assert gradcheck(unsteady_rule, leaf([1.0, 2.0]), nondet_tol=1e-6)


def test_a_gradient_from_nothing_is_found() -> None:
    text = report(not_linear, leaf([1.0]))
    assert "is not zero where the cotangent of output 0 is" in text
    assert gradcheck(not_linear, leaf([1.0]), check_undefined_grad=False)


@elementwise(vjp(input=lambda g, input: g * wrong_factor(input)), public=False, name="third")
def third(xp: Any, input: Array) -> Array:
    """A third of the cube: right, but for the rule of its rule."""
    return input * input * input / 3


def test_a_fault_of_the_second_order_is_found_by_gradgradcheck() -> None:
    assert gradcheck(third, leaf([0.5, 1.0]))
    for options in ({}, {"fast_mode": True}, {"gen_non_contig_grad_outputs": True}):
        with pytest.raises(GradwireError, match="output 0 by input 0"):
            gradgradcheck(third, leaf([0.5, 1.0]), **options)
    assert not gradgradcheck(third, leaf([0.5, 1.0]), leaf([1.0, 2.0]), raise_exception=False)


def test_what_does_not_depend_on_an_input_must_not_move_with_it() -> None:
    text = report(lambda x: op("sin", x.detach()), leaf([1.0]))
    assert "it gives 0.0, differences give 0.54" in text


def test_single_precision_is_warned_about() -> None:
    with pytest.warns(UserWarning, match="input 0 is float32"):
        gradcheck(lambda x: op("sin", x), leaf([1.0], dtype="float32"), eps=1e-2, atol=1e-2)


def test_inputs_that_do_not_require_grad_are_left_alone() -> None:
    assert gradcheck(lambda x, y, z: op("mul", x, y) * z, (leaf([1.0]), plain([2.0]), 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradcheck(lambda x, y: op("mul", x, y), (leaf([1.0]), plain([2.0], "float32")))


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"check_backward_ad": False}, AssertionError),
        (
            {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
            AssertionError,
        ),
        ({"check_batched_forward_grad": True}, AssertionError),
    ],
)
def test_wishes_that_contradict_each_other(options: dict[str, Any], kind: type) -> None:
    with pytest.raises(kind):
        gradcheck(lambda x: x * 2, leaf([1.0]), **options)


def test_inputs_that_cannot_be_checked() -> None:
    with pytest.raises(ValueError, match="none of the inputs"):
        gradcheck(lambda x: x * 2, plain([1.0]))
    with pytest.raises(RuntimeError, match="share one place in memory"):
        gradcheck(lambda x: x * 2, op("expand", leaf([1.0]), (3,)))
    with pytest.raises(ZeroDivisionError):
        gradcheck(lambda x: x * (1 // 0), leaf([1.0]), raise_exception=False)


@elementwise(
    vjp(input=lambda g: g * 2),
    public=False,
    name="wrong_batch",
    batch=lambda b: b.front("input") * 3,
)
def wrong_batch(xp: Any, input: Array) -> Array:
    """Twice the input, but three times where it is batched."""
    return input * 2


@elementwise(vjp(input=lambda g: wrong_batch(g)), public=False, name="twice")
def twice(xp: Any, input: Array) -> Array:
    """Twice the input; its rule is right but for batches."""
    return input * 2


def test_a_wrong_batch_rule_is_found() -> None:
    assert gradcheck(twice, leaf([1.0, 2.0]))
    assert "batched gradient by input 0" in report(twice, leaf([1.0, 2.0]), check_batched_grad=True)
    options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert gradcheck(twice, leaf([1.0, 2.0]), check_forward_ad=True)
    assert "batched tangent of output 0" in report(twice, leaf([1.0, 2.0]), **options)
