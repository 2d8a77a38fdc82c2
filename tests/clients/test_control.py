"""cond, scan and while_loop in the SDK: what Python's own loops would give, as one request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwire as torch
from gradwire.session import Session
from gradwire_engine.errors import GradwireError


def _weights() -> torch.Tensor:
    return torch.tensor([[0.5, 0.1], [0.2, -0.3]], requires_grad=True)


def _rows() -> torch.Tensor:
    return torch.linspace(-1, 1, 20).reshape(5, 2, 2)


def close(found: torch.Tensor, wanted: torch.Tensor) -> None:
    """The same numbers to rounding."""
    np.testing.assert_allclose(
        found.detach().numpy(), wanted.detach().numpy(), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_scan_is_a_loop(session: Session, checkpoint: bool) -> None:
    w, xs = _weights(), _rows()

    def cell(state, x):
        h = torch.tanh(state["h"] @ w + x)
        return {"h": h, "n": state["n"] + 1}, (h, h * 2)

    start = {"h": torch.zeros(2, 2), "n": torch.tensor(0)}
    last, (ys, twice) = torch.scan(cell, start, xs, checkpoint=checkpoint)
    state, wanted = start, []
    for x in xs:
        state, (y, _) = cell(state, x)
        wanted.append(y)
    close(last["h"], state["h"])
    assert last["n"].item() == 5
    close(ys, torch.stack(wanted))
    close(twice, torch.stack(wanted) * 2)
    losses = (ys**2).sum() + last["h"].sum(), (torch.stack(wanted) ** 2).sum() + state["h"].sum()
    slopes = [torch.autograd.grad(loss, w, create_graph=True)[0] for loss in losses]
    close(*slopes)
    close(*[torch.autograd.grad((s**2).sum(), w)[0] for s in slopes])


def test_reverse_and_another_axis(session: Session) -> None:
    xs = _rows()
    total, later = torch.scan(lambda s, x: (s + x, s), torch.zeros(2, 2), xs, reverse=True)
    close(total, xs.sum(0))
    close(later, torch.stack([xs[i + 1 :].sum(0) for i in range(5)]))
    across, _ = torch.scan(lambda s, x: (s + x, None), torch.zeros(2, 2), xs, dim=0)
    other, _ = torch.scan(lambda s, x: (s + x, None), torch.zeros(5, 2), xs, dim=1)
    close(across, xs.sum(0))
    close(other, xs.sum(1))


def test_within_transforms(session: Session) -> None:
    xs = _rows()

    def last(w: torch.Tensor) -> torch.Tensor:
        found, _ = torch.scan(lambda h, x: (torch.tanh(h * w + x), None), xs[0], xs)
        return found.sum()

    def by_hand(w: torch.Tensor) -> torch.Tensor:
        h = xs[0]
        for x in xs:
            h = torch.tanh(h * w + x)
        return h.sum()

    w, many = torch.tensor([0.3, -0.7]), torch.tensor([[0.3, -0.7], [1.0, 2.0]])
    for transform in (torch.func.grad, torch.func.hessian, torch.func.jacfwd):
        close(transform(last)(w), transform(by_hand)(w))
    close(
        torch.func.vmap(torch.func.grad(last))(many),
        torch.func.vmap(torch.func.grad(by_hand))(many),
    )


def test_a_loop_until_it_is_near_enough(session: Session) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    root, steps = torch.while_loop(
        lambda v, n: (v * v - x).abs() > 1e-5,
        lambda v, n: ((v + x / v) / 2, n + 1),
        (torch.tensor(1.0), torch.tensor(0)),
        bound=30,
    )
    by_hand = torch.tensor(1.0)
    for _ in range(steps.item()):
        by_hand = (by_hand + x / by_hand) / 2
    close(root, torch.tensor(2.0**0.5))
    close(root, by_hand)
    close(torch.autograd.grad(root, x)[0], torch.autograd.grad(by_hand, x)[0])


def test_one_of_two(session: Session) -> None:
    x, w = torch.tensor(2.0, requires_grad=True), _weights()
    for limit, factor in ((1.0, 3.0), (5.0, -1.0)):
        y = torch.cond(x > limit, lambda a: a * w * 3, lambda a: -a * w, (x,))
        close(y, x * w * factor)
        close(torch.autograd.grad(y.sum(), x)[0], (w * factor).sum())
    assert torch.cond(True, lambda a: a, lambda a: -a, (x,)) is x


def test_a_loop_in_a_loop(session: Session) -> None:
    x = torch.tensor(1.5, requires_grad=True)

    def inner(h: torch.Tensor, _: object) -> tuple[torch.Tensor, None]:
        return h * x, None

    def outer(h: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found, _ = torch.scan(inner, h, length=3)
        return torch.cond(found > 100, lambda h: h / 50, lambda h: h + y, (found,)), found

    last, _ = torch.scan(outer, torch.tensor(1.0), torch.ones(4))
    h = torch.tensor(1.0)
    for _ in range(4):
        h = h * x * x * x
        h = h / 50 if h.item() > 100 else h + 1
    close(last, h)
    close(torch.autograd.grad(last, x)[0], torch.autograd.grad(h, x)[0])


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda h, x: torch.scan(lambda h, x: (torch.cat([h, h]), x), h, x), "gives float32[4, 2]"),
        (lambda h, x: torch.scan(lambda h, x: h, h, x), "combine_fn gives Tensor"),
        (lambda h, x: torch.scan(lambda h, x: ((h, h), x), h, x), "carries"),
        (lambda h, x: torch.scan(lambda h, x: (h, x), h, x, length=4), "5 rows"),
        (lambda h, x: torch.scan(lambda h, x: (h, x), h), "there are no rows"),
        (lambda h, x: torch.cond((h > 0).all(), lambda a: a, lambda a: a[0], (h,)), "false_fn"),
        (lambda h, x: torch.while_loop(lambda h: h > 0, lambda h: h, (h,)), "bool[2, 2]"),
        (lambda h, x: torch.while_loop(lambda h: h.sum() == 0, lambda h: h, (h,), bound=9), "9"),
    ],
)  # fmt: skip
def test_wrong(session: Session, run, said: str) -> None:
    with pytest.raises(GradwireError) as caught:
        run(torch.zeros(2, 2), _rows())
    assert said in str(caught.value)


def _scanned(start: object, step: Callable[[Any, Any], Any], **named: Any) -> Any:
    return torch.scan(step, start, **({"xs": torch.arange(4.0)} | named))


def _looped(carried: Any, body: Callable[..., Any], goes_on: Callable[..., Any]) -> Any:
    return torch.while_loop(goes_on, body, carried)


_ONE, _WHOLE = torch.ones(()), torch.ones((), dtype=torch.int64)
_CARRIES = {
    "a number that becomes a tensor": (
        lambda: _scanned(0.0, lambda s, x: (s + x, s)), "invalid_argument",
        "scan: combine_fn gets carry as 0.0 and gives float32[]", "torch.tensor(0.0)",
    ),
    "a whole one that becomes a float": (
        lambda: _scanned((0, _ONE), lambda s, x: ((s[0] + x, s[1]), x)), "invalid_argument",
        "gets carry[0] as 0 and gives float32[]", "torch.tensor(0, dtype=torch.float32)",
    ),
    "a number that counts": (
        lambda: _scanned({"n": 3, "s": _ONE}, lambda c, x: ({"n": c["n"] + 1, "s": c["s"]}, x)),
        "invalid_argument", "gets carry['n'] as 3 and gives 4", "begin with torch.tensor(3)",
    ),
    "a tensor that becomes a number": (
        lambda: _scanned(_ONE, lambda s, x: (1.0, x)), "invalid_argument",
        "gets carry as float32[] and gives 1.0", "give torch.tensor(1.0)",
    ),
    "a tensor that becomes None": (
        lambda: _scanned(_ONE, lambda s, x: (None, x)), "invalid_argument",
        "gets carry as float32[] and gives None", "is a tensor",
    ),
    "another dtype": (
        lambda: _scanned(_WHOLE, lambda s, x: (s + x, s)), "dtype_mismatch",
        "scan: combine_fn gets carry as int64[] and gives float32[]", "will be, float32[]",
    ),
    "another shape": (
        lambda: _scanned(_ONE, lambda s, x: (s.reshape(1), s)), "shape_mismatch",
        "gets carry as float32[] and gives float32[1]", "will be, float32[1]",
    ),
    "another structure": (
        lambda: _scanned(_ONE, lambda s, x: ((s,), s)), "shape_mismatch",
        "gets the carries float32[] and gives (float32[],)", "structure",
    ),
    "no tensor at all": (
        lambda: _scanned(None, lambda s, x: (None, 2.0)), "invalid_argument",
        "combine_fn gives (None, 2.0), which has no tensor", "torch.tensor(1.0)",
    ),
    "rows that are numbers": (
        lambda: _scanned(_ONE, lambda s, x: (s, s), xs=[1.0, 2.0]), "invalid_argument",
        "xs is [1.0, 2.0], so there are no rows", "length",
    ),
    "rows without an axis": (
        lambda: _scanned(_ONE, lambda s, x: (s, s), xs=_ONE), "shape_mismatch",
        "xs is float32[], and each step gets a row", "an axis",
    ),
    "a loop's number": (
        lambda: _looped((1.0,), lambda v: v * 2, lambda v: v < 9), "invalid_argument",
        "while_loop: body_fn gets carry[0] as 1.0 and gives 2.0", "torch.tensor(1.0)",
    ),
    "a loop's dtype": (
        lambda: _looped((_WHOLE,), lambda v: v * 2.5, lambda v: v < 9), "dtype_mismatch",
        "body_fn gets carry[0] as int64[] and gives float32[]", "will be, float32[]",
    ),
    "a loop without a tuple": (
        lambda: _looped(_ONE, lambda v: v * 2, lambda v: v < 9), "invalid_argument",
        "carried_inputs is float32[], and no tuple", "a tuple",
    ),
    "a loop by Python's bool": (
        lambda: _looped((_ONE,), lambda v: v * 2, lambda v: True), "invalid_argument",
        "cond_fn gives True, and no tensor", "v < 10",
    ),
    "a branch's number": (
        lambda: torch.cond(_ONE > 0, lambda v: v * 2, lambda v: 1.0, (_ONE,)), "invalid_argument",
        "cond: true_fn gives float32[], false_fn gives 1.0", "torch.tensor(1.0)",
    ),
    "a branch's dtype": (
        lambda: torch.cond(_ONE > 0, lambda v: v, lambda v: v.long(), (_ONE,)), "dtype_mismatch",
        "true_fn gives float32[], false_fn gives int64[]", "dtypes",
    ),
    "branches of numbers": (
        lambda: torch.cond(_ONE > 0, lambda v: 2, lambda v: 2, (_ONE,)), "invalid_argument",
        "true_fn gives 2, which has no tensor", "torch.tensor(1.0)",
    ),
    "branches without a tuple": (
        lambda: torch.cond(_ONE > 0, lambda v: v, lambda v: v, _ONE), "invalid_argument",
        "operands is float32[], and no tuple", "a tuple",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _CARRIES)
def test_what_does_not_fit_is_told_with_its_way_out(name: str) -> None:
    run, code, said, hint = _CARRIES[name]
    with pytest.raises(RuntimeError) as caught:
        run()
    assert isinstance(caught.value, GradwireError)
    assert (caught.value.code, said in caught.value.detail) == (code, True), caught.value
    assert hint in str(caught.value.hint)


def test_carries_in_a_dict_go_by_key(session: Session) -> None:
    """In whatever order a step, or a branch, gives them."""
    start = {"a": torch.tensor(1.0), "b": torch.tensor(2.0)}
    last, _ = torch.scan(lambda s, x: ({"b": s["b"] * 3, "a": s["a"]}, x), start, torch.ones(2))
    assert (last["a"].item(), last["b"].item()) == (1.0, 18.0)
    (found,) = torch.while_loop(
        lambda s: s["b"] < 9, lambda s: ({"b": s["b"] * 3, "a": s["a"]},), (start,)
    )
    assert (found["a"].item(), found["b"].item()) == (1.0, 18.0)
    for pred, b in ((True, 2.0), (False, -2.0)):
        chosen = torch.cond(
            torch.tensor(pred), lambda s: s, lambda s: {"b": -s["b"], "a": s["a"]}, (start,)
        )
        assert (chosen["a"].item(), chosen["b"].item()) == (1.0, b)


def test_numbers_that_stay_go_along(session: Session) -> None:
    (last, times), _ = torch.scan(
        lambda c, x: ((c[0] * c[1] + x, c[1]), None), (torch.tensor(1.0), 1000), torch.ones(2)
    )
    assert (last.item(), times) == (1001001.0, 1000)


class Pair(list[Any]):
    """A list of another kind."""


def test_carries_stand_in_whatever_sequence(session: Session) -> None:
    """A size, a list of another kind and a named tuple are given as they came."""
    found = torch.max(torch.tensor([[1.0, 3.0]]), 1)
    init = (torch.zeros(2).shape, Pair([torch.tensor(1.0)]), found)

    def step(carry: Any, x: Any) -> Any:
        size, pair, best = carry
        return (size, Pair([pair[0] * x]), type(best)(best.values + x, best.indices)), x

    (size, pair, best), _ = torch.scan(step, init, torch.tensor([2.0, 3.0]))
    assert (type(size), size) == (torch.Size, torch.Size([2]))
    assert (type(pair), pair[0].item()) == (Pair, 6.0)
    assert (best.values.tolist(), best.indices.tolist()) == ([8.0], [1])
