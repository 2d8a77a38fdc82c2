"""The differential tester finds planted faults, shrinks them, and lets rounding alone pass."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="make parity installs torch")

import torch
from tests.parity.differential.campaign import Tally, lost, on_torch_alone, one, seeds_from
from tests.parity.differential.observe import ULPS, Seen, changes
from tests.parity.differential.rounding import explained, noise
from tests.parity.differential.run import Found
from tests.parity.differential.step import Dtype, Given, Program, Ref, Step
from tests.parity.differential.undefined import arbitrary, moves_retained
from tests.parity.differential.unguarded import Unguarded
from tests.parity.differential.world import FLOATS
from tests.parity.workers import Lost, Saying, each

import gradwire
from gradwire_engine import walk
from gradwire_engine.tensor import Tensor

EPS = 2.0**-52


def _seen(*values: float, **facts: Any) -> Seen:
    plain = Seen("float64", (len(values),), False, True, 0, np.array(values))
    return replace(plain, **facts)


def _apart(ulps: float) -> list[str]:
    return changes({"x": _seen(1.0, 0.5)}, {"x": _seen(1.0 + ulps * EPS, 0.5)})


def test_numbers_may_be_a_few_ulps_apart_and_no_more() -> None:
    assert not _apart(ULPS)
    assert _apart(4 * ULPS)


@pytest.mark.parametrize(
    "facts",
    [
        {"version": 1}, {"requires_grad": True}, {"is_leaf": False}, {"grad_fn": "SinBackward0"},
        {"dtype": "float32"}, {"grad": _seen(1.0, 1.0)}, {"values": np.array([1.0, np.nan])},
        {"values": np.array([1.0, np.inf])},
    ],
)  # fmt: skip
def test_every_fact_is_compared(facts: dict[str, Any]) -> None:
    assert changes({"x": _seen(1.0, 0.5)}, {"x": _seen(1.0, 0.5, **facts)})


def _cancelling() -> Program:
    """A million is added and taken away: ten digits of the sine are left."""
    leaf = Step("leaf", "function", "tensor", ([1.1, 2.3],), (("dtype", Dtype("float64")),), ("x",))
    steps = [("sin", "x", "y"), ("add", "y", "z"), ("sub", "z", "d")]
    others = {"add": 1e6, "sub": 1e6}
    made = [
        Step(
            "math", "method", name, (Ref(x), *([others[name]] if name in others else [])), (), (y,)
        )
        for name, x, y in steps
    ]
    return (leaf, *made)


def _found(theirs: float, ours: float) -> Found:
    pair = ({"d": _seen(0.5, theirs)}, {"d": _seen(0.5, ours)})
    return Found(3, changes(*pair), [], pair)


def test_what_twins_differ_by_is_rounding_and_more_is_not() -> None:
    program = _cancelling()
    true = float(np.sin(2.3))
    assert explained(program, _found(true, true + 1e-10))
    assert not explained(program, _found(true, true + 1e-5))
    pair = ({"d": _seen(0.5, true)}, {"d": _seen(0.5, true + 1e-10, version=1)})
    assert not explained(program, Found(3, changes(*pair), [], pair))


@pytest.mark.parametrize("dtype", FLOATS)
def test_noise_is_added_to_numbers_of_any_width(dtype: str) -> None:
    ones = torch.ones(16, dtype=getattr(torch, dtype))
    assert (noise(0)(Step("leaf", "function", "ones", ()), ones, ones.abs()) != ones).any()


def _program(*calls: tuple[str, str, tuple[Any, ...], tuple[str, ...]]) -> Program:
    return tuple(Step("math", form, name, args, (), out) for form, name, args, out in calls)


def test_what_was_divided_in_place_is_rounded_too() -> None:
    """z / z leaves 1, and of the imaginary part 0 or a last digit, which then divides."""
    z, parts = Ref("z"), Ref("parts")
    program = _program(
        ("function", "tensor", ([0.93 - 1.68j, -1.98 + 1.77j],), ("z",)),
        ("method", "div_", (z, z), ()),
        ("function", "view_as_real", (z,), ("parts",)),
        ("method", "remainder", (parts, parts), ("d",)),
    )
    shown = _seen(0.0, 0.0, 0.0, 0.0, shape=(2, 2), dtype="float32")
    theirs = replace(shown, values=np.zeros((2, 2)))
    ours = replace(shown, values=np.array([[0.0, np.nan], [0.0, np.nan]]))
    pair = ({"d": theirs}, {"d": ours})
    assert explained(program, Found(3, changes(*pair), [], pair))
    worse = ({"d": theirs}, {"d": replace(shown, values=np.full((2, 2), np.nan))})
    assert not explained(program, Found(3, changes(*worse), [], worse))


@pytest.mark.parametrize("name", ["addcdiv", "addcmul"])
def test_what_an_op_cancels_within_is_rounded_as_its_operand_is(name: str) -> None:
    """-2 + 2 z / z is 0, or a last digit of 2, which then divides."""
    x, z, y = Ref("x"), Ref("z"), Ref("y")
    program = _program(
        ("function", "tensor", ([-2],), ("x",)),
        ("function", "tensor", ([1.0 + 0j],), ("z",)),
        ("method", name, (x, z, z), ("y",)),
        ("method", "reciprocal", (y,), ("d",)),
    )
    program = (*program[:2], replace(program[2], kwargs=(("value", 2),)), program[3])
    facts = {"shape": (1,), "dtype": "complex64"}
    theirs = replace(_seen(0.0, **facts), values=np.array([complex(np.nan, np.nan)]))
    ours = replace(theirs, values=np.array([complex(2**20, 2**20)]))
    pair = ({"d": theirs}, {"d": ours})
    assert explained(program, Found(3, changes(*pair), [], pair))
    wrong = ({"d": theirs, "x": _seen(1.0)}, {"d": ours, "x": _seen(2.0)})
    assert not explained(program, Found(3, changes(*wrong), [], wrong))


def test_what_weights_and_cotangents_round_to_is_measured_too() -> None:
    """layer_norm of one element takes what is rounded off itself; nothing of that was a result."""
    x, y, leaf = Ref("x"), Ref("y"), (("dtype", Dtype("float64")), ("requires_grad", True))
    weight, cotangent = Given([1.9], "float64"), Given([[-0.89], [-0.13], [0.22]], "float64")
    program = (
        Step("leaf", "function", "tensor", ([[0.97], [0.85], [0.75]],), leaf, ("x",)),
        Step("layer", "function", "nn.functional.layer_norm", (x, (1,), weight), (), ("y",)),
        Step("grad", "function", "autograd.grad", ([y], [x], [cotangent]), (), ("d",)),
    )
    shown = _seen(0.0, shape=(3, 1))

    def rounding(theirs: float, ours: float, program: Program = program) -> bool:
        made = ({"d": replace(shown, values=np.array([[0.0], [0.0], [v]]))} for v in (theirs, ours))
        pair = tuple(made)
        return explained(program, Found(2, changes(*pair), [], pair))

    assert rounding(-(2.0**-45), 0.0)
    assert not rounding(1e-9, 0.0)
    plain = replace(program[1], name="nn.functional.prelu", args=(x, weight))
    assert not rounding(1.9 * 0.22, 1.9 * 0.22 * 1.001, (program[0], plain, program[2]))


@pytest.mark.parametrize("name", ["signbit", "copysign"])
def test_the_sign_of_nan_is_arbitrary(name: str) -> None:
    numbers = {"x": torch.tensor([1.0, 2.0]), "y": torch.tensor([float("nan"), 1.0])}
    operands = {"signbit": ("y",), "copysign": ("x", "y")}[name]
    asked = Step("math", "method", name, tuple(map(Ref, operands)))
    assert arbitrary(numbers, asked)
    assert not arbitrary(numbers | {"y": torch.ones(2)}, asked)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_program_ends_where_what_kron_kept_is_written(recorded: bool) -> None:
    x, y = torch.ones(2, requires_grad=recorded), torch.tensor([1.0, float("nan")])
    unguarded = Unguarded()
    variables = {"x": x, "y": y, "z": torch.kron(x, y)}
    unguarded.found(Step("math", "function", "kron", (Ref("x"), Ref("y")), (), ("z",)), variables)
    assert not unguarded.written()
    y.view(2, 1)[0] = 3
    assert unguarded.written() is recorded


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("retained", [True, False])
def test_a_later_output_that_retains_its_gradient_is_not_written(
    which: int, retained: bool
) -> None:
    """Torch crashes then, or says that it is at fault."""
    x = torch.var_mean(torch.ones(3, requires_grad=True))[which]
    if retained:
        x.retain_grad()
    variables = {"x": x, "y": x.view(-1), "z": torch.ones(1)}
    write = Step("in place", "method", "mul_", (Ref("y"), 2))
    assert moves_retained(variables, write) is (which == 1 and retained)
    assert not moves_retained(variables, replace(write, args=(Ref("z"), 2)))
    assert not moves_retained(variables, replace(write, name="mul"))


def test_an_error_of_one_library_alone_is_never_rounding() -> None:
    pair = ({"d": _seen(0.5)}, {"d": _seen(0.5)})
    assert not explained(_cancelling(), Found(3, ["torch: no error\ngradwire: KeyError"], [], pair))


def _failures(count: int) -> list[str]:
    return [said for seed in seeds_from(3, count) for said in one(seed, None).failures]


def _steps(said: str) -> int:
    script = said.partition("gradwire as torch\n\n")[2]
    return sum(not line.startswith("#") for line in script.splitlines() if line)


def test_gradients_a_little_too_large_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a millionth of a millionth, at leaves that have a gradient already."""
    right = walk.accumulate

    def wrong(tensor: Tensor, g: Any, reading: Any) -> None:
        more = g * (1 + 1e-12) if tensor.grad is not None and hasattr(g, "dtype") else g
        right(tensor, more, reading)

    monkeypatch.setattr(walk, "accumulate", wrong)
    failures = _failures(60)
    assert failures
    assert all(".grad" in said for said in failures)
    assert min(map(_steps, failures)) <= 6


def test_a_write_that_is_not_counted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Tensor.count_write
    monkeypatch.setattr(Tensor, "count_write", lambda x: None if x.view is not None else right(x))
    failures = _failures(10)
    assert len(failures) > 5
    assert min(map(_steps, failures)) <= 4


def _killed(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _torch_dies(seed: int, at: Saying) -> Tally:
    torch.tensor = _killed
    return one(seed, None, at=at)


def _torch_dies_alone(seed: int, at: Saying) -> None:
    torch.tensor = _killed
    on_torch_alone(seed, at)


def _gradwire_dies(seed: int, at: Saying) -> Tally:
    gradwire.tensor = _killed
    return one(seed, None, at=at)


def _last(work: Callable[..., Any]) -> Lost | None:
    found = next(each(work, deque([1]), 1))
    return found if isinstance(found, Lost) else None


def test_a_crash_of_torch_is_told_and_is_no_program() -> None:
    died = _last(_torch_dies)
    assert died is not None
    tally = lost(died, lambda seed: _last(_torch_dies_alone))
    assert (tally.programs, tally.failures, len(tally.crashes)) == (0, [], 1)
    assert tally.crashes[0].startswith("torch crashed on program seed 1: ")
    assert tally.crashes[0] in tally.summary()


@pytest.mark.parametrize("work", [_gradwire_dies, _torch_dies])
def test_a_crash_that_is_not_torchs_alone_is_a_difference(work: Callable[..., Any]) -> None:
    died = _last(work)
    assert died is not None
    tally = lost(died, lambda seed: _last(on_torch_alone))
    assert (tally.programs, tally.crashes, len(tally.failures)) == (1, [], 1)
    assert "SIGSEGV" in tally.failures[0]
    assert not tally.holds()


def test_an_error_of_the_tester_is_never_torchs() -> None:
    raised = Lost(1, False, "KeyError", "torch", "step 1")
    assert lost(raised, lambda seed: replace(raised, died=True)).failures
