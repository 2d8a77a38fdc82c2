"""Functions over functions of the engine against torch.autograd.functional and torch.func."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
import torch.autograd.functional as torch_functional
from tests.parity.functions import (
    arguments,
    directions,
    drawn,
    on_engine,
    on_torch,
    scalar,
    vector,
)

from gradwire_engine import func, functional
from gradwire_engine.backward import grad
from gradwire_engine.tensor import Tensor
from gradwire_engine.vmap import vmap

SEEDS = range(60)


class Side:
    """Torch, or the engine, by one face."""

    def __init__(self, call: Callable[..., Any], functional: Any, func: Any, of: Any) -> None:
        self.call, self.functional, self.func, self.of = call, functional, func, of


def torch_tensor(array: np.ndarray, requires_grad: bool = False) -> torch.Tensor:
    return torch.tensor(array, requires_grad=requires_grad)


def engine_tensor(array: np.ndarray, requires_grad: bool = False) -> Tensor:
    return Tensor.of(np.array(array), requires_grad)


THEIRS = Side(on_torch, torch_functional, torch.func, torch_tensor)
OURS = Side(on_engine, functional, func, engine_tensor)
OURS.func.vmap = vmap  # type: ignore[attr-defined]


def plain(value: Any) -> Any:
    """Nested results as arrays with whether they require grad."""
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, torch.Tensor):
        zero = value._is_zerotensor()  # has no memory to make an array of
        array = np.zeros(value.shape) if zero else value.detach().numpy()
        return array, value.requires_grad
    return np.asarray(value.numpy()), value.requires_grad


def outcome(run: Callable[[Side], Any], side: Side) -> Any:
    """What a run gives, or the exception that it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return plain(run(side))
        except Exception as problem:
            return problem


def same(expected: Any, actual: Any) -> None:
    if isinstance(expected, Exception) or isinstance(actual, Exception):
        assert isinstance(actual, type(expected)), (expected, actual)
    elif isinstance(expected, list):
        assert len(expected) == len(actual)
        for e, a in zip(expected, actual, strict=True):
            same(e, a)
    else:
        assert expected[1] == actual[1], "requires_grad differs"
        assert expected[0].shape == actual[0].shape
        scale = np.abs(expected[0]).max(initial=1)
        np.testing.assert_allclose(actual[0], expected[0], rtol=1e-9, atol=1e-9 * scale)


def agree(run: Callable[[Side], Any]) -> None:
    same(outcome(run, THEIRS), outcome(run, OURS))


CONFUSED = "Trying to set a forward gradient that has a different size"
"""What torch says where a batched tangent meets some ops on vectors: it doesn't support that."""


def agree_where_torch_can(run: Callable[..., Any], way: dict[str, Any]) -> None:
    """The same; where torch's forward mode gives up, its reverse mode decides."""
    expected = outcome(lambda side: run(side, **way), THEIRS)
    if not (isinstance(expected, RuntimeError) and CONFUSED in str(expected)):
        agree(lambda side: run(side, **way))
        return
    values = outcome(lambda side: run(side), THEIRS)
    same(without_flags(values), without_flags(outcome(lambda side: run(side, **way), OURS)))


def without_flags(value: Any) -> Any:
    """Results as if none required grad."""
    if isinstance(value, list):
        return [without_flags(item) for item in value]
    return value if isinstance(value, Exception) else (value[0], False)


def given(side: Side, arrays: Sequence[np.ndarray], requires_grad: bool = False) -> Any:
    return tuple(side.of(a, requires_grad) for a in arrays)


def results(seed: int) -> Any:
    """What the vector function gives, to know the shapes of cotangents."""
    return vector(drawn(seed), on_torch)(*given(THEIRS, arguments(seed)))


PRODUCTS = ("vjp", "jvp", "vhp", "hvp")


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, seed: int, create_graph: bool) -> None:
    steps, at = drawn(seed), arguments(seed)
    v = directions(seed, results(seed) if name == "vjp" else at)
    make = vector if name in ("vjp", "jvp") else scalar
    agree(
        lambda side: getattr(side.functional, name)(
            make(steps, side.call),
            given(side, at, create_graph),
            given(side, v),
            create_graph=create_graph,
        )
    )


WAYS: list[dict[str, Any]] = [
    {},
    {"vectorize": True},
    {"create_graph": True},
    {"vectorize": True, "create_graph": True},
    {"vectorize": True, "strategy": "forward-mode"},
    {"strategy": "forward-mode"},
    {"strategy": "forward-mode", "vectorize": True, "create_graph": True},
    {"strategy": "forward-mode", "vectorize": True, "strict": True},
    {"strict": True, "vectorize": True},
    {"strategy": "sideways"},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("seed", SEEDS[:20])
def test_jacobians_and_hessians(seed: int, way: dict[str, Any]) -> None:
    steps, at = drawn(seed), arguments(seed)
    grads = bool(way.get("create_graph"))

    def jacobian(side: Side, **way: Any) -> Any:
        return side.functional.jacobian(vector(steps, side.call), given(side, at, grads), **way)

    def hessian(side: Side, **way: Any) -> Any:
        outer = {"outer_jacobian_strategy" if k == "strategy" else k: v for k, v in way.items()}
        function = scalar(steps[:4], side.call)
        return side.functional.hessian(function, given(side, at, grads), **outer)

    agree_where_torch_can(jacobian, way)
    agree_where_torch_can(hessian, way)


FUNCTIONS: dict[str, Callable[[Side, list[Any]], Any]] = {
    "grad": lambda s, a: s.func.grad(scalar(STEPS[0], s.call), argnums=(0, 2))(*a),
    "grad_and_value": lambda s, a: s.func.grad_and_value(scalar(STEPS[0], s.call), 1)(*a),
    "jacrev": lambda s, a: s.func.jacrev(vector(STEPS[0], s.call), argnums=1)(*a),
    "jacrev in chunks": lambda s, a: s.func.jacrev(vector(STEPS[0], s.call), chunk_size=2)(*a),
    "jacfwd": lambda s, a: s.func.jacfwd(vector(STEPS[0], s.call), argnums=(0, 1))(*a),
    "hessian": lambda s, a: s.func.hessian(scalar(STEPS[0], s.call), argnums=(0, 1))(*a),
    "jacrev of jacfwd": lambda s, a: s.func.jacrev(s.func.jacfwd(vector(STEPS[0], s.call)))(*a),
    "jacfwd of jacfwd": lambda s, a: s.func.jacfwd(s.func.jacfwd(scalar(STEPS[0], s.call), 1))(*a),
    "jacrev of grad": lambda s, a: s.func.jacrev(s.func.grad(scalar(STEPS[0], s.call), 2), 1)(*a),
    "grad of sums of jvp": lambda s, a: s.func.grad(
        lambda x: s.call(
            "sum",
            s.func.jvp(lambda x: vector(STEPS[0], s.call)(x, a[1], a[2])[0], (x,), (x,))[1],
        )
    )(a[0]),
    "linearize": lambda s, a: s.func.linearize(vector(STEPS[0], s.call), *a)[1](*a),
    "third order": lambda s, a: s.func.jacfwd(s.func.hessian(scalar(STEPS[0][:4], s.call), 1), 1)(
        *a
    ),
    "vmap of grad": lambda s, a: s.func.vmap(
        s.func.grad(lambda y: scalar(STEPS[0], s.call)(a[0], y, a[2]))
    )(s.call("stack", [a[1], s.call("sin", a[1])])),
    "grad of vmap": lambda s, a: s.func.grad(
        lambda x: s.call(
            "sum",
            s.func.vmap(lambda y: scalar(STEPS[0], s.call)(x, y, a[2]))(a[0]),
        )
    )(a[0]),
    "vmap of jvp": lambda s, a: s.func.vmap(
        lambda y: s.func.jvp(
            lambda y: vector(STEPS[0], s.call)(a[0], y, a[2])[0], (y,), (s.call("cos", y),)
        )[1]
    )(a[0]),
    "jvp of vmap": lambda s, a: s.func.jvp(
        s.func.vmap(lambda y: vector(STEPS[0], s.call)(a[0], y, a[2])[0]), (a[0],), (a[0],)
    )[1],
    "hessian per example": lambda s, a: s.func.vmap(
        s.func.hessian(lambda y: scalar(STEPS[0][:4], s.call)(a[0], y, a[2]))
    )(a[0]),
}
STEPS: list[Any] = [None]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("seed", SEEDS[:25])
def test_functions_of_functions(name: str, seed: int) -> None:
    STEPS[0] = drawn(seed)
    agree(lambda side: FUNCTIONS[name](side, list(given(side, arguments(seed)))))


SPECIAL: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "independent of the second": lambda call: lambda x, y: call("sum", call("mul", x, x)),
    "linear": lambda call: lambda x, y: call("add", call("sum", x), call("sum", y)),
    "linear in the second": lambda call: (
        lambda x, y: call("sum", call("mul", call("mul", x, x), y))
    ),
    "quadratic": lambda call: lambda x, y: call("sum", call("mul", call("mul", x, y), x)),
    "constant": lambda call: lambda x, y: call("sum", x.detach()),
    "not scalar": lambda call: lambda x, y: call("mul", x, y),
    "two results": lambda call: lambda x, y: (call("mul", x, y), call("sin", x)),
    "one constant result": lambda call: lambda x, y: (call("mul", x, y), call("sin", x.detach())),
    "in a tuple": lambda call: lambda x, y: (call("sum", call("mul", x, y)),),
    "a number": lambda call: lambda x, y: 1.5,
    "a number among results": lambda call: lambda x, y: (x, 1.5),
    "one element": lambda call: lambda x, y: call("reshape", call("sum", call("mul", x, y)), (1,)),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("special", SPECIAL)
def test_strictness(special: str, strict: bool, create_graph: bool, requires_grad: bool) -> None:
    at = directions(1, [np.empty(2), np.empty(2)])
    options = {"strict": strict, "create_graph": create_graph}
    for name in (*PRODUCTS, "jacobian", "hessian"):
        for v in ((), (at,), ((at[0],),)):
            if v and name in ("jacobian", "hessian"):
                continue

            def run(side: Side, name: str = name, v: Any = v) -> Any:
                function = SPECIAL[special](side.call)
                along = [given(side, w) for w in v]
                inputs = given(side, at, requires_grad)
                return getattr(side.functional, name)(function, inputs, *along, **options)

            agree(run)


def test_one_input_needs_no_tuple_and_no_v() -> None:
    for name in PRODUCTS:
        agree(
            lambda side, name=name: getattr(side.functional, name)(  # type: ignore[misc]
                lambda x: side.call("sin", x), side.of(np.array([0.3]))
            )
        )
    for name in ("jacobian", "hessian"):
        agree(
            lambda side, name=name: getattr(side.functional, name)(  # type: ignore[misc]
                lambda x: side.call("sum", side.call("sin", x)), side.of(np.array([0.3, 0.4]))
            )
        )
    agree(lambda side: side.functional.jvp(lambda x: x, 1.5, 1.5))
    agree(lambda side: side.functional.vjp(lambda x: x, (side.of(np.ones(2)), "x"), 1.5))


def test_what_is_created_can_be_differentiated() -> None:
    steps, at = drawn(3), arguments(3)

    def run(side: Side) -> Any:
        inputs = given(side, at, True)
        along = given(side, directions(3, at))
        _, found = side.functional.jvp(vector(steps, side.call), inputs, along, create_graph=True)
        total = side.call("sum", side.call("mul", found[0], found[0]))
        if side is THEIRS:
            return torch.autograd.grad(total, inputs, materialize_grads=True)
        return grad([total], list(inputs), materialize_grads=True)

    agree(run)


@pytest.mark.parametrize("argnums", [5, -4, (), (0, 0), "x", (0, 1.5)])
def test_argnums_that_make_no_sense(argnums: Any) -> None:
    at = arguments(0)
    agree(lambda side: side.func.grad(scalar(drawn(0), side.call), argnums)(*given(side, at)))


def test_refusals() -> None:
    x = np.array([0.5, 0.25])
    agree(lambda side: side.func.grad(lambda x: side.call("sin", x))(side.of(x)))
    agree(lambda side: side.func.grad(lambda x: 1.5)(side.of(x)))
    agree(lambda side: side.func.grad(lambda x: (side.call("sum", x),))(side.of(x)))
    agree(lambda side: side.func.grad(lambda x: side.call("sum", x), has_aux=True)(side.of(x)))
    agree(lambda side: side.func.jvp(lambda x: x, side.of(x), side.of(x)))
    agree(lambda side: side.func.jvp(lambda x: x, (side.of(x),), (side.of(x), side.of(x))))
    agree(lambda side: side.func.jvp(lambda x: x, (side.of(x),), (side.of(x[:1]),)))
    agree(lambda side: side.func.jvp(lambda x: 1.5, (side.of(x),), (side.of(x),)))
    agree(lambda side: side.func.jacrev(lambda x: x)(side.of(x + 1j)))
    agree(lambda side: side.func.jacfwd(lambda x: x)(side.of(x + 1j)))
    agree(lambda side: side.func.vjp(lambda x: (x, x), side.of(x))[1](side.of(x)))
    agree(lambda side: side.func.jacrev(lambda x: x, chunk_size=0)(side.of(x)))
