"""NaN, infinities, zeros by their signs, the least integer: numbers as torch has them, and slopes.

What its table's samples and the edges of every op (tests/parity/opinfo/edges.py) do not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwire

INF, NAN = float("inf"), float("nan")
VALUES: dict[str, Callable[[Any], Any]] = {
    "a mean runs along to an infinity": lambda m: m.var_mean(m.tensor([1.0, 2.0, INF]))[1],
    "and is NaN behind it": lambda m: m.var_mean(m.tensor([[INF, 1.0], [1.0, INF]]), 1)[1],
    "also beside deviations": lambda m: m.std_mean(m.tensor([[INF, 1.0], [1.0, 2.0]]), 0)[1],
    "all axes": lambda m: m.var_mean(m.tensor([[1.0], [-INF]]), (0, 1), keepdim=True)[1],
    "parts of complex numbers spread by themselves": lambda m: m.var(
        m.tensor([[1 + 2j, 1 + 1j], [3 + 2j, 1 + 1j]], dtype=m.complex128), 0, correction=2
    ),
    "of the largest numbers": lambda m: m.nn.functional.gelu(m.tensor([1.7e308], dtype=m.float64)),
    "a factor before a division": lambda m: m.addcdiv(
        m.tensor([INF]), m.tensor([3e38]), m.tensor([INF]), value=2
    ),
    "a factor before a product": lambda m: m.addcmul(
        m.tensor([1.0]), m.tensor([3e38]), m.tensor([0.0]), value=2
    ),
    "a small complex number": lambda m: m.log1p(m.tensor([1e-20 + 1e-30j], dtype=m.complex128)),
    "any axis of nothing": lambda m: m.zeros(2, 0).cummin(5)[1],
    "the least integer has a negative divisor": lambda m: m.gcd(
        m.tensor([-128, -128, 6], dtype=m.int8), m.tensor([127, 31, 4], dtype=m.int8)
    ),
}
ZEROS: dict[str, Callable[[Any], Any]] = {
    name: lambda m, name=name: getattr(m.nn.functional, name)(m.tensor([-0.0, 0.0]))
    for name in ("elu", "selu", "celu", "relu6", "hardtanh", "logsigmoid")
} | {
    "erfinv": lambda m: m.tensor([-0.0, 0.0]).erfinv(),
    "logsigmoid far out": lambda m: m.nn.functional.logsigmoid(m.tensor([INF, 1000.0])),
    "sums of conjugates": lambda m: _conjugates(m) + _conjugates(m).flip(0),
    "differences of conjugates": lambda m: _conjugates(m) - _conjugates(m).flip(0),
    "less one": lambda m: _conjugates(m) - 1,
    "less minus one": lambda m: _conjugates(m) - (-1),
    "from one": lambda m: 1 - _conjugates(m),
    "to the first": lambda m: _conjugates(m) ** 1,
    "angles": lambda m: (_conjugates(m) * 0).acos(),
}


def _conjugates(m: Any) -> Any:
    return m.tensor([2.0, -0.5, 0.25], dtype=m.complex128).conj_physical()


def _parts(x: Any) -> np.ndarray:
    found = np.asarray(x.tolist())
    return np.stack((found.real, found.imag)) if found.dtype.kind == "c" else found


@pytest.mark.filterwarnings("ignore:var.*degrees of freedom")  # torch says so of what is meant
@pytest.mark.parametrize("called", VALUES)
def test_values(called: str) -> None:
    ours, theirs = (_parts(VALUES[called](m)) for m in (gradwire, torch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)


@pytest.mark.parametrize("called", ZEROS)
def test_zeros_have_torchs_sign(called: str) -> None:
    ours, theirs = (_parts(ZEROS[called](m)) for m in (gradwire, torch))
    assert np.signbit(ours).tolist() == np.signbit(theirs).tolist()


SLOPES: dict[str, tuple[list[Any], Callable[[Any, Any], Any]]] = {
    "of xlogy by a number": ([0.5, -3.0], lambda m, x: x * x.xlogy(2)),
    "of a size at 0": ([0.0, 1.0], lambda m, x: x.copysign(-1)),
    "at softplus's threshold": ([0.5, 0.25], lambda m, x: m.nn.functional.softplus(x, 2, 1)),
    "of mish at infinity": ([INF, 50.0, -INF], lambda m, x: m.nn.functional.mish(x)),
    "of log_ndtr at -inf": ([-INF, 1.0], lambda m, x: m.special.log_ndtr(x)),
    "of xlog1py by a pole": ([0.0, 2.0], lambda m, x: m.special.xlog1py(x * x, x - 1)),
    "of a product of one": ([INF], lambda m, x: x.prod()),
    "of acosh below a cut": ([0.5 - 0j, 2 - 0j, -2 - 0j], lambda m, x: x.conj_physical().acosh()),
}


@pytest.mark.parametrize("called", SLOPES)
def test_slopes_to_second_order(called: str) -> None:
    values, run = SLOPES[called]
    found = []
    for m in (gradwire, torch):
        dtype = m.complex128 if isinstance(values[0], complex) else m.float64
        x = m.tensor(values, dtype=dtype, requires_grad=True)
        y = run(m, x)
        (slope,) = m.autograd.grad([y], [x], [m.ones_like(y)], create_graph=True)
        assert slope.requires_grad
        (bend,) = m.autograd.grad([slope], [x], [m.ones_like(slope)])
        found.append((_parts(slope.detach()), _parts(bend)))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
