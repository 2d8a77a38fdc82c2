"""Products in parts, and what a watch is told of calls that may take long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire_engine import long_calls
from gradwire_engine.arrays import backend
from gradwire_engine.flops import operations
from gradwire_engine.long_calls import FACTORISATIONS, HEAVY, Function, Work, matmul, parts
from gradwire_engine.mode import using
from gradwire_engine.op import PRIMITIVES
from gradwire_engine.spec import Spec, float64

XP = backend("cpu").xp
SHAPES = [
    ((300, 40), (40, 200)),
    ((1, 500), (500, 700)),
    ((700, 3), (3, 1)),
    ((5, 130, 20), (5, 20, 140)),
    ((3, 1, 70, 9), (3, 4, 9, 80)),
    ((2, 1, 1, 10), (2, 1, 10, 300)),
]


class Told:
    """A watch that lets everything go on, and notes what it is told."""

    def __init__(self, patience: int = 1000) -> None:
        self.foreseen: list[Work] = []
        self.learnt: list[tuple[Work, float]] = []
        self.ran: list[Work] = []
        self.looks = 0
        self.patience = patience

    def foresee(self, work: Work) -> None:
        self.foreseen.append(work)

    def look(self, work: Any = None, took: float = 0.0) -> None:
        self.looks += 1
        if self.looks > self.patience:
            raise TimeoutError

    def learn(self, work: Work, seconds: float) -> None:
        self.learnt.append((work, seconds))

    def run(self, work: Work, call: Function, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        self.ran.append(work)
        return call.own(*args, **named)


@pytest.mark.parametrize("most", [1.0, 2e5, 1e6, 1e12])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_parts_are_the_whole(left: tuple[int, ...], right: tuple[int, ...], most: float) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, left), rng.integers(-9, 9, right)
    stack = np.broadcast_shapes(left[:-2], right[:-2])
    a, b = np.broadcast_to(a, (*stack, *left[-2:])), np.broadcast_to(b, (*stack, *right[-2:]))
    out = np.full((*stack, left[-2], right[-1]), 10**9)
    flops = 2 * out.size * left[-1]
    made = list(parts((a, b, out), flops, most))
    for one, other, into in made:
        assert (into == 10**9).all()  # no two parts are of the same places
        np.matmul(one, other, out=into)
    assert (out == a @ b).all()
    if most >= flops:
        assert len(made) == 1
    for _, _, into in made:
        assert 2 * into.size * left[-1] <= most or (max(into.shape) < 128 and into.ndim == 2)


def heavy(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Operands of a product with just as many operations as are heavy."""
    rows = 64
    inner = HEAVY // 2 // rows // 1024
    a = np.ones((rows, inner), dtype)
    return a, np.ones((inner, 1024), dtype)


def test_a_heavy_product_is_shown_and_a_light_one_is_not() -> None:
    a, b = heavy("float32")
    told = Told()
    with using(watch=told):
        found = matmul(np, a, b)
        matmul(np, a[:-1], b)
    assert (found == a.shape[1]).all()
    work = Work("matmul", "float32", a.shape, HEAVY, a.nbytes + b.nbytes + found.nbytes)
    assert told.foreseen == [work]
    assert [seen for seen, _ in told.learnt] == [work]
    assert told.looks >= 1


def test_a_product_is_the_same_whether_or_not_it_is_watched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(long_calls, "PART", HEAVY // 7)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((1000, 2200)), rng.standard_normal((2200, 1000))
    told = Told()
    with using(watch=told):
        watched = matmul(np, a, b)
    assert told.looks > 2
    np.testing.assert_array_equal(watched, matmul(np, a, b))
    np.testing.assert_allclose(watched, a @ b, atol=1e-9)


def test_a_look_ends_a_product_between_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_calls, "PART", HEAVY // 4)
    a, b = heavy("float32")
    told = Told(patience=1)
    with using(watch=told), pytest.raises(TimeoutError):
        matmul(np, a, b)
    assert told.looks == 2
    assert told.learnt == []


CALLS = {
    "svd": lambda a: XP.linalg.svd(a, False),
    "svdvals": lambda a: XP.linalg.svd(a, compute_uv=False),
    "eig": XP.linalg.eig,
    "eigh": lambda a: XP.linalg.eigh(a + a.T, "L"),
    "eigvalsh": lambda a: XP.linalg.eigvalsh(a + a.T),
    "qr": lambda a: XP.linalg.qr(a, mode="reduced"),
    "inv": XP.linalg.inv,
    "solve": lambda a: XP.linalg.solve(a, a[:, :7]),
    "det": XP.linalg.det,
    "slogdet": XP.linalg.slogdet,
    "cholesky": lambda a: XP.linalg.cholesky(a @ a.T + np.eye(len(a))),
    "lu": XP.scipy_linalg.lu,
    "expm": lambda a: XP.scipy_linalg.expm(a / 100),
    "solve_triangular": lambda a: XP.scipy_linalg.solve_triangular(np.triu(a), a[:, :7]),
    "dgetrf": lambda a: long_calls.lapack("getrf", a)(a),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_large_decomposition_is_handed_over_and_a_small_one_is_not(name: str) -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((190, 190)) + 30 * np.eye(190)
    told = Told()
    with using(watch=told):
        found = CALLS[name](a)
        CALLS[name](a[:9, :9])
    (work,) = told.ran
    assert work.name == name
    assert work.shape == a.shape
    assert work.flops > 0
    alone = CALLS[name](a)
    for one, other in zip(_listed(found), _listed(alone), strict=True):
        np.testing.assert_array_equal(one, other)


def _listed(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, tuple) else (found,)


def test_a_triangular_system_takes_no_decomposition() -> None:
    (op,) = PRIMITIVES["linalg.solve_triangular"]
    A, B = Spec((3, 5000, 5000), float64, "cpu"), Spec((3, 5000, 2), float64, "cpu")
    assert operations(op, [A, B], [B]) == 3 * 5000**2 * 2 < HEAVY


def test_flops_of_decompositions() -> None:
    rng = np.random.default_rng(0)
    told = Told()
    a = rng.standard_normal((400, 200))
    with using(watch=told):
        XP.linalg.qr(a, mode="reduced")
        XP.linalg.qr(np.stack([a, a]), mode="reduced")
        XP.linalg.inv(a[:200])
        XP.linalg.inv(a[:200] + 1j)
        XP.linalg.solve(a[:200], a[200:, :50])
    one, two, inverse, of_complex, solved = (work.flops for work in told.ran)
    assert one == int(FACTORISATIONS["qr"].flops * 400 * 200 * 200)
    assert abs(two - 2 * one) <= 1
    assert inverse == 2 * 200**3
    assert of_complex == 4 * inverse
    assert solved == int(2 / 3 * 200**3 + 2 * 200 * 200 * 50)
