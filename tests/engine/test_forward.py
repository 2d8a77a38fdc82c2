"""Forward mode on every op: tangents against reverse mode, and second order in every order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest
from tests.engine.samples import samples_of
from tests.engine.samples.linalg import HERMITIAN
from tests.engine.test_registry import complex_points, directions_for, exact, hermitian, product
from tests.engine.trial import REFUSED, Host, Trial, cotangents, host, on

from gradwire_engine import ops
from gradwire_engine.backward import grad
from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.errors import GradwireError
from gradwire_engine.forward import Pushed, push
from gradwire_engine.mode import no_grad, using
from gradwire_engine.op import Primitive
from gradwire_engine.spec import COMPLEX
from gradwire_engine.tensor import Tensor

sampled_op = pytest.mark.parametrize("name", sorted(filter(samples_of, CATALOGUE.keys() - REFUSED)))


class Case:
    """A sample at points, with two directions to go from there."""

    def __init__(self, trial: Trial, points: list[Host]) -> None:
        self.trial, self.points = trial, points
        both = [directions_for(points, seed) for seed in (1, 2)]
        if trial.name in HERMITIAN:
            both = [hermitian(arrays) for arrays in both]
        self.v, self.w = ([on("cpu", a) for a in arrays] for arrays in both)

    def leaves(self, requires_grad: bool = True) -> list[Tensor]:
        return self.trial.tensors(self.points, requires_grad=requires_grad)

    def run(self, *at: Any) -> list[Any]:
        return self.trial.run(at)

    def slope(self, *at: Any) -> list[Any]:
        """The recorded gradient of a fixed product with the outputs."""
        outputs = exact(self.run(*at))
        if not outputs:
            return []
        weights = cotangents(outputs)
        return grad(outputs, list(at), weights, create_graph=True, materialize_grads=True)


def cases(name: str) -> list[Case]:
    """The samples of an op in float64 and complex128, where it can be differentiated."""
    trials = [Trial(name, call) for call in samples_of(name)]
    pairs = [(t, points) for t in trials for points in (t.points, complex_points(t)) if points]
    return [Case(t, points) for t, points in pairs if exact(t.run(t.tensors(points)))]


def pushed(function: Callable[..., Any], at: Sequence[Any], along: Sequence[Any]) -> Pushed:
    return push("test", function, tuple(at), at, along)


def agree(found: float, wanted: float, tolerance: float) -> None:
    assert abs(found - wanted) <= tolerance * (1 + abs(wanted)), (found, wanted)


@sampled_op
def test_a_tangent_is_what_reverse_mode_says(name: str) -> None:
    for case in cases(name):
        at = case.leaves()
        outputs = case.run(*at)
        with no_grad():
            moved = pushed(case.run, case.leaves(False), case.v)
        for y, value, tangent in zip(outputs, moved.result, moved.tangents, strict=True):
            np.testing.assert_array_equal(host(value), host(y))
            assert tangent is None or (tangent.spec == y.spec and y.requires_grad)
        rooted = exact(outputs)
        weights = cotangents(rooted)
        pairs = zip(outputs, moved.full_tangents, strict=True)
        along = [t for y, t in pairs if any(y is root for root in rooted)]
        back = grad(rooted, at, weights, materialize_grads=True)
        agree(product(along, weights), product(back, list(case.v)), precision(name))


def precision(name: str) -> float:
    """How far results may be apart: ops that convert to a narrower dtype give that precision."""
    return 2e-2 if name in ("half", "bfloat16") else 1e-6 if name in SINGLE else 1e-9


SINGLE = ("float", "cfloat", "to")


@sampled_op
def test_second_order_is_the_same_in_every_order(name: str) -> None:
    """Forward over reverse and reverse over forward against reverse over reverse."""
    for case in cases(name):
        at = case.leaves()
        wanted = product(by(at, case.slope(*at), case.v), list(case.w))
        forward_over_reverse = pushed(case.slope, case.leaves(), case.w).full_tangents
        agree(product(forward_over_reverse, list(case.v)), wanted, 1e-7)
        at = case.leaves()
        moved = pushed(case.run, at, case.v)
        pairs = zip(moved.result, moved.full_tangents, strict=True)
        slopes = [t for y, t in pairs if exact([y])]
        agree(product(by(at, slopes, cotangents(slopes)), list(case.w)), wanted, 1e-7)


def by(at: list[Tensor], values: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
    """The gradient of the product of values and weights, where there is one."""
    pairs = [(y, w) for y, w in zip(values, weights, strict=True) if y.requires_grad]
    if not pairs:
        return [on("cpu", np.zeros(x.shape)) for x in at]
    return grad([y for y, _ in pairs], at, [w for _, w in pairs], materialize_grads=True)


@sampled_op
def test_forward_over_forward_is_symmetric(name: str) -> None:
    for case in cases(name):
        for a, b in zip(twice(case, case.v, case.w), twice(case, case.w, case.v), strict=True):
            scale = np.abs(host(a)).max(initial=1)
            np.testing.assert_allclose(host(a), host(b), rtol=1e-7, atol=1e-8 * scale)


def twice(case: Case, first: list[Tensor], then: list[Tensor]) -> list[Any]:
    """The second derivative in two directions, by dual numbers of dual numbers."""

    def inner(*at: Any) -> list[Any]:
        return pushed(case.run, at, first).full_tangents

    return pushed(inner, case.leaves(False), then).full_tangents


def elementwise_ops() -> dict[str, Primitive]:
    """Every elementwise primitive with a derivative that takes complex numbers, public or not."""
    modules = [import_module(m.name) for m in iter_modules(ops.__path__, "gradwire_engine.ops.")]
    found = {id(v): v for module in modules for v in vars(module).values()}
    wanted = [v for v in found.values() if isinstance(v, Primitive) and v.rules and v.fuses]
    return {op.name: op for op in wanted if COMPLEX in op.takes}


@pytest.mark.parametrize("name", elementwise_ops())
def test_what_conjugates_says_so(name: str) -> None:
    """An elementwise rule serves forward mode as it is only where the function is holomorphic."""
    op = elementwise_ops()[name]
    rng = np.random.default_rng(5)
    slots = [p for p in op.signature.parameters if p.kind == "tensor"]
    points = [
        on("cpu", rng.uniform(0.5, 0.9, 3) * np.exp(1j * rng.uniform(0, 1, 3))) for _ in slots
    ]
    if op.signature.parameters[0].name in ("condition", "mask"):
        points[0] = on("cpu", np.array([True, False, True]))
    if "mask" in op.signature.by_name:
        points[1], points[2] = on("cpu", np.array([True, False, True])), on("cpu", np.array(2j))
    at = [x.detach().requires_grad_() if x.dtype.is_complex else x for x in points]
    along = [on("cpu", rng.normal(size=x.shape) + 1j * rng.normal(size=x.shape)) for x in points]
    given = [t if x.dtype.is_complex else None for x, t in zip(points, along, strict=True)]
    with using(writing=True):  # in place every complex result is recorded
        y = op(*at)
    moved = push("test", op, tuple(points), points, given)
    (weight,) = cotangents([y])
    leaves = [x for x in at if x.requires_grad]
    back = grad([y], leaves, [weight], materialize_grads=True)
    wanted = product(back, [t for t in given if t is not None])
    agree(product(moved.full_tangents, [weight]), wanted, 1e-9)


@pytest.mark.parametrize("place", [0, 1])
def test_floor_divide_refuses_whatever_moves(place: int) -> None:
    """Its rule is one for both operands, of which a whole one can't move."""
    floor = CATALOGUE["floor_divide"]
    pair = [Tensor.of(np.array([7], "uint8")), Tensor.of(np.array([[1.0, 2.0, 3.0]], "float32"))]
    still, moving = pair if place else pair[::-1]

    def function(x: Any) -> Any:
        return floor(still, x) if place else floor(x, still)

    with pytest.raises(GradwireError, match="derivative of floor_divide is not implemented"):
        push("jvp", function, (moving,), (moving,), (moving,))
