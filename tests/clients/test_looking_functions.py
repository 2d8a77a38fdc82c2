"""Functions that look at values: embedded they run as Python, over the wire they are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradwire as torch
from gradwire import GradwireError, func
from gradwire.session import Session

F = torch.autograd.functional


def bent(x: Any) -> Any:
    """x² below 1, else x³, summed: which one is looked at."""
    return (x**2).sum() if x.sum().item() < 1 else (x**3).sum()


ASKED = {
    "grad": lambda x: func.grad(bent)(x),
    "value": lambda x: func.grad_and_value(bent)(x)[0],
    "vjp": lambda x: func.vjp(bent, x)[1](torch.tensor(1.0))[0],
    "jacrev": lambda x: func.jacrev(bent)(x),
    "jacfwd": lambda x: func.jacfwd(bent)(x),
    "jacobian": lambda x: F.jacobian(bent, x),
    "F.vjp": lambda x: F.vjp(bent, x)[1],
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("values", [[0.1, 0.2], [1.0, 2.0]])
def test_a_branch_on_a_value(name: str, values: list[float], session: Session, door: Any) -> None:
    x = torch.tensor(values)
    if door is not None:
        with pytest.raises(GradwireError) as problem:
            ASKED[name](x)
        assert problem.value.code == "untraceable"
        assert "test_looking_functions" in problem.value.detail
        return
    v = np.array(values)
    expected = 2 * v if v.sum() < 1 else 3 * v**2
    np.testing.assert_allclose(ASKED[name](x).numpy(), expected, rtol=1e-6)


def test_second_derivatives_and_directions() -> None:
    with torch.connect(None).session():
        x, v = torch.tensor([1.0, 2.0]), torch.tensor([0.5, -1.0])
        np.testing.assert_allclose(func.hessian(bent)(x).numpy(), [[6.0, 0.0], [0.0, 12.0]])
        np.testing.assert_allclose(F.hessian(bent, x).numpy(), [[6.0, 0.0], [0.0, 12.0]])
        np.testing.assert_allclose(F.hvp(bent, x, v)[1].numpy(), [3.0, -12.0])
        y, push = func.jvp(bent, (x,), (v,))
        assert (y.item(), push.item()) == (9.0, 1.5 - 12.0)
        r = x.clone().requires_grad_()
        (second,) = torch.autograd.grad(func.grad(bent)(r).sum(), r)
        np.testing.assert_allclose(second.numpy(), [6.0, 12.0])


def _branches(x: Any, y: Any) -> Any:
    return (x * y * 2, (x**3).sum()) if x.sum().item() > 0 else (x - y, x.sum())


def _doubled(x: Any) -> Any:
    while x.norm() < 10:
        x = x * 2
    return x


def test_gradcheck_calls_what_looks_at_values_as_python(session: Session) -> None:
    check, twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    z = torch.tensor([1 + 2j, 0.5j], dtype=torch.complex128, requires_grad=True)
    for test in (check, twice):
        assert test(_branches, (x, y))
        assert test(_branches, (-x.detach().requires_grad_(), y))
        assert test(_doubled, x)
        assert test(lambda z: z * z.conj() * z if z.real.sum() > 0 else z, z)
    assert check(lambda x: x[x.detach().numpy() > 1.5] * 2, x, fast_mode=True)
    assert x.grad is None
    with pytest.raises(GradwireError, match="looks at the value"):
        check(_branches, (x, y), check_forward_ad=True)


def test_gradcheck_finds_faults_of_what_looks_at_values(session: Session) -> None:
    check = torch.autograd.gradcheck
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)

    def forgets(x: Any) -> Any:
        return x * 1, (x**2 if float(x.detach().sum()) > 0 else x) + x.detach() ** 2

    with pytest.raises(RuntimeError) as caught:
        check(forgets, (x,))
    said = str(caught.value)
    assert "output 1 with respect to input 0, at [1] of the output and [1] of the input" in said
    assert "numerical:  8.0000" in said
    assert "analytical: 4.0" in said
    assert check(forgets, (x,), raise_exception=False) is False
    with pytest.raises(RuntimeError, match="not deterministic"):
        check(lambda x: x * torch.rand(2) if x.sum() > 0 else x, (x,))
    single = x.detach().float().requires_grad_()
    with pytest.warns(UserWarning, match="float32"):
        assert check(lambda x: x * 2 if x.sum() > 0 else x, (single,), eps=1e-2)
