"""Declarations that don't hold together are refused when they are made, with op and operand."""

from __future__ import annotations

from typing import Any

import pytest

from gradwire_engine.arrays import Array
from gradwire_engine.families import elementwise
from gradwire_engine.op import PRIMITIVES
from gradwire_engine.rule import vjp
from gradwire_engine.signature import REQUIRED, read_signature


def skewed(xp: Any, input: Array, other: Array, *, by: float = 1.0) -> Array:
    """A kernel to declare."""
    return input + by * other


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (vjp(weight=lambda g: g), r"op skewed: a rule for 'weight', but .* \['input', 'other'\]"),
        (vjp(by=lambda g: g), "op skewed: a rule for 'by', but the operands are"),
        (vjp(out=lambda g: g), "op skewed: a rule for 'out', but the operands are"),
        (vjp(input=lambda g, bias: g), "op skewed, rule for input: .* is called 'bias'"),
        (vjp(input=lambda g_sum: g_sum), "op skewed, rule for input: .* is called 'g_sum'"),
        (vjp(other=lambda input, g: g), "op skewed, rule for other: 'g' stands too late"),
        (vjp(other=lambda g, by, input: g), "op skewed, rule for other: 'input' stands too late"),
        (vjp(joint=lambda g: g, input=lambda g: g), "op skewed: either one joint rule or"),
    ],
)
def test_a_rule_that_does_not_fit(rules: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        elementwise(rules, public=False)(skewed)
    assert "skewed" not in PRIMITIVES


def test_a_parameter_of_no_kind() -> None:
    def kernel(xp: Any, input: Array, places: list[int]) -> Array:
        """Wrong."""
        return input

    with pytest.raises(TypeError, match=r"op kernel: parameter places has .* 'list.int.'; use one"):
        elementwise(public=False)(kernel)


def test_a_parameter_without_annotation() -> None:
    def kernel(xp: Any, input) -> Array:  # type: ignore[no-untyped-def]
        """Wrong."""
        return input

    with pytest.raises(TypeError, match="op kernel: parameter input has the annotation 'None'"):
        elementwise(public=False)(kernel)


def test_what_says_nothing_of_itself() -> None:
    def kernel(xp: Any, input: Array) -> Array:
        return input

    with pytest.raises(TypeError, match="op kernel: a sentence of documentation is missing"):
        elementwise(public=False)(kernel)


def test_defaults_and_kinds_are_read() -> None:
    def kernel(
        xp: Any, A: Array, B: Array | None, dim: int = 2, *, eps: float, upper: bool = False
    ) -> Array:
        """Read."""
        return A

    found = read_signature("kernel", kernel, skip=1)
    assert [tuple(p) for p in found.parameters] == [
        ("A", "tensor", REQUIRED, False, False),
        ("B", "tensor", REQUIRED, True, False),
        ("dim", "int", 2, False, False),
        ("eps", "float", REQUIRED, False, True),
        ("upper", "bool", False, False, True),
    ]
    assert (found.positional, found.operand_places, found.by_name["eps"]) == (3, (0, 1), 3)


@pytest.mark.parametrize("name", [n for n, ops in PRIMITIVES.items() if len(ops[0].outputs) > 1])
def test_several_results_come_by_name(name: str) -> None:
    op = PRIMITIVES[name][0]
    made = op.result(range(len(op.outputs)))
    assert made._fields == op.outputs
    assert type(made) is type(op.result(made)), "one type, however often it is asked for"
