"""Functions over functions: nests, modes, in-place ops, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.engine.calls import leaf, numbers, op, plain, write

from gradwire_engine import func, functional
from gradwire_engine.backward import backward, grad
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import inference_mode, no_grad
from gradwire_engine.tensor import Tensor
from gradwire_engine.vmap import vmap

pytestmark = pytest.mark.usefixtures("each_library")


def cube(x: Any) -> Any:
    return op("sum", x * x * x)


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found.numpy(), np.array(wanted), rtol=1e-12, atol=1e-12)


def test_arguments_and_results_are_nests() -> None:
    def model(weights: dict[str, Any], x: Any) -> Any:
        return {"out": [op("mul", weights["a"], x), weights["b"][0] * 3]}

    weights = {"a": plain([1.0, 2.0]), "b": (plain([5.0]),)}
    x = plain([3.0, 4.0])
    value, pull = func.vjp(model, weights, x)
    assert numbers(value["out"][0]) == [3, 8]
    by_weights, by_x = pull({"out": [plain([1.0, 1.0]), plain([2.0])]})
    assert (numbers(by_weights["a"]), numbers(by_weights["b"][0])) == ([3, 4], [6])
    assert numbers(by_x) == [1, 2]
    _, moved = func.jvp(model, (weights, x), (weights, x))
    assert (numbers(moved["out"][0]), numbers(moved["out"][1])) == ([6, 16], [15])
    jac = func.jacrev(model)(weights, x)["out"][0]["a"]
    assert numbers(jac) == [[3, 0], [0, 4]]
    assert numbers(func.jacfwd(model)(weights, x)["out"][0]["a"]) == [[3, 0], [0, 4]]


def test_aux_comes_along() -> None:
    def loss(x: Any) -> Any:
        y = x * x
        return op("sum", y), {"y": y, "step": 7}

    x = plain([1.0, 2.0])
    found, aux = func.grad(loss, has_aux=True)(x)
    assert (numbers(found), numbers(aux["y"]), aux["step"]) == ([2, 4], [1, 4], 7)
    assert not aux["y"].requires_grad
    found, (value, aux) = func.grad_and_value(loss, has_aux=True)(x)
    assert (numbers(value), aux["step"]) == (5, 7)
    for way in (func.jacrev, func.jacfwd, func.jacobian):
        jac, aux = way(loss, has_aux=True)(x)
        assert (numbers(jac), numbers(aux["y"])) == ([2, 4], [1, 4])
        assert type(aux["y"]) is Tensor
    _, moved, aux = func.jvp(loss, (x,), (x,), has_aux=True)
    assert (numbers(moved), numbers(aux["y"])) == (10, [1, 4])


def test_the_shapes_choose_the_mode() -> None:
    runs: list[Any] = []

    def wide(x: Any) -> Any:
        runs.append(x)
        return op("cat", (x, x * x, x))

    close(func.jacobian(wide)(plain([1.0, 2.0])), [[1, 0], [0, 1], [2, 0], [0, 4], [1, 0], [0, 1]])
    assert len(runs) == 2
    func.jacobian(cube)(plain([1.0, 2.0]))
    for strategy in ("forward-mode", "reverse-mode"):
        close(func.jacobian(cube, strategy=strategy)(plain([1.0, 2.0])), [3, 12])


def test_gradients_reach_what_a_function_closes_over() -> None:
    w, x = leaf([2.0, 3.0]), plain([1.0, 1.0])
    slope = func.grad(lambda x: op("sum", w * x * x))(x)
    assert slope.requires_grad
    assert numbers(grad([op("sum", slope)], [w])[0]) == [2, 2]
    _, tangent = func.jvp(lambda x: w * x, (x,), (x,))
    assert numbers(grad([op("sum", tangent)], [w])[0]) == [1, 1]
    with no_grad():
        assert not func.grad(lambda x: op("sum", w * x * x))(x).requires_grad
    assert not func.grad(cube)(x).requires_grad


def test_they_work_where_nothing_is_recorded() -> None:
    x = plain([1.0, 2.0])
    with no_grad():
        assert numbers(func.grad(cube)(x)) == [3, 12]
        assert numbers(func.hessian(cube)(x)) == [[6, 0], [0, 12]]
    with inference_mode():
        inside = x * 1
        assert numbers(func.grad(cube)(inside)) == [3, 12]
        assert numbers(func.jvp(lambda x: op("softmax", x, 0), (inside,), (inside,))[0]) == (
            numbers(op("softmax", x, 0))
        )
        assert numbers(func.jvp(cube, (inside,), (inside,))[1]) == 27


def test_perturbations_of_nested_walks_are_not_confused() -> None:
    def outer(x: Any) -> Any:
        inner = func.jvp(lambda y: op("mul", x, y), (plain(2.0),), (plain(1.0),))[1]
        return op("mul", x, inner)

    close(func.jvp(outer, (plain(3.0),), (plain(1.0),))[1], 6)
    close(func.grad(lambda x: x * func.grad(lambda y: x + y)(plain(1.0)))(plain(1.0)), 1)


def test_a_gradient_by_an_intermediate_inside_of_a_walk_forward() -> None:
    """Its tangent holds the intermediate's own tangent fast, though that was made of the value."""

    def slope(z: Any) -> Any:
        x = op("exp", z)
        first = op("cumsum", x * x * z, 0)
        return grad([op("sum", first)], [x], create_graph=True)[0]

    z, t = np.array([0.3, 0.7]), np.array([1.0, -2.0])
    value, tangent = func.jvp(slope, (leaf(z),), (plain(t),))
    weight = np.array([2.0, 1.0])
    close(value, weight * 2 * np.exp(z) * z)
    close(tangent, weight * 2 * np.exp(z) * (z + 1) * t)


def written(x: Any) -> Any:
    """In-place ops on values, views of them and items."""
    y = x * 2
    write("mul_", op("select", y, 0, 1), x_of(x, 0))
    write("add_", y, 1)
    z = op("sin", y)
    write("mul_", z, y)
    write("__setitem__", z, 0, x_of(x, 2))
    return z


def x_of(x: Any, index: int) -> Any:
    return op("select", x, 0, index)


def afresh(x: Any) -> Any:
    """The same without writing."""
    first, second, third = (x_of(x, i) for i in range(3))
    y = op("stack", (first * 2 + 1, second * 2 * first + 1, third * 2 + 1))
    z = op("sin", y) * y
    return op("cat", (op("narrow", x, 0, 2, 1), op("narrow", z, 0, 1, 2)))


@pytest.mark.parametrize("way", ["jacfwd", "jacrev", "hessian"])
def test_functions_may_write_in_place(way: str) -> None:
    x = plain([0.3, 0.7, 1.1])
    derive = getattr(func, way)
    close(derive(written)(x), derive(afresh)(x).numpy())
    assert numbers(x) == [0.3, 0.7, 1.1]


def test_a_write_may_make_a_tangent_differ_from_example_to_example() -> None:
    def scaled(x: Any) -> Any:
        made = x * 1  # its tangent is the same for all examples
        write("mul_", op("slice", made, 0, 1, 2), op("sum", x))
        write("__setitem__", made, 0, op("sum", x * x))
        return made

    rows = plain([[1.0, 2.0], [3.0, 4.0]])
    found = vmap(func.jacfwd(scaled))(rows)
    assert numbers(found) == [[[2, 4], [2, 5]], [[6, 8], [4, 11]]]
    one_by_one = [func.jacrev(scaled)(op("select", rows, 0, i)) for i in (0, 1)]
    close(found, [numbers(one) for one in one_by_one])


def test_a_write_may_move_a_tangent_that_stood_still() -> None:
    def cubed(x: Any) -> Any:
        made = x * 1  # its tangent has no tangent of its own
        write("__setitem__", made, 0, op("sum", x * x * x))
        return op("sum", made)

    x = plain([1.0, 2.0])
    assert numbers(func.jacfwd(func.jacfwd(cubed))(x)) == [[6, 0], [0, 12]]
    assert numbers(vmap(func.jacfwd(func.jacfwd(cubed)))(op("stack", [x])))[0] == [[6, 0], [0, 12]]


def test_a_direction_is_not_written() -> None:
    x, t = plain([1.0, 2.0]), plain([1.0, 1.0])

    def doubled(x: Any) -> Any:
        y = op("clone", x)
        write("mul_", y, 2)
        return y

    assert numbers(func.jvp(doubled, (x,), (t,))[1]) == [2, 2]
    assert (numbers(x), numbers(t)) == ([1, 2], [1, 1])


def test_a_tensor_from_outside_takes_no_tangent() -> None:
    kept = plain([0.0, 0.0])

    def store(x: Any) -> Any:
        write("copy_", kept, x)
        return x

    x = plain([1.0, 2.0])
    with pytest.raises(GradwireError, match="is the same for all that a transform works on"):
        func.jvp(store, (x,), (x,))
    assert numbers(kept) == [0, 0]
    with no_grad():
        func.jvp(store, (x,), (x,))
    assert numbers(kept) == [1, 2]


def test_detach_drops_the_tangent() -> None:
    x = plain([1.0, 2.0])
    _, tangent = func.jvp(lambda x: x * x.detach(), (x,), (plain([1.0, 1.0]),))
    assert numbers(tangent) == [1, 2]


def test_views_of_tangents_that_lie_askew() -> None:
    x = plain([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    tangent = op("transpose", plain([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]), 0, 1)
    broad = op("expand", plain([1.0, 2.0, 3.0]), (2, 3))
    for t in (tangent, broad):
        for call in (("view", (6,)), ("as_strided", (2, 2), (1, 2)), ("reshape", (3, 2))):
            name, *rest = call
            _, moved = func.jvp(lambda x: op(name, x, *rest), (x,), (t,))  # noqa: B023
            close(moved, op(name, op("contiguous", t), *rest).numpy())


def test_backward_is_refused_inside() -> None:
    def adds(x: Any) -> Any:
        backward([cube(x)])
        return x

    with pytest.raises(GradwireError) as problem:
        func.jvp(adds, (leaf([1.0]),), (plain([1.0]),))
    assert problem.value.code == "untraceable"


def test_tangents_that_do_not_fit() -> None:
    x = plain([1.0, 2.0])
    with pytest.raises(GradwireError) as problem:
        func.jvp(cube, (x,), (plain([1.0, 1.0], "float32"),))
    assert problem.value.code == "dtype_mismatch"
    _, along = func.linearize(cube, x)
    with pytest.raises(GradwireError) as problem:
        along(plain([1.0]))
    assert problem.value.code == "shape_mismatch"
    with pytest.raises(GradwireError):
        func.jvp(lambda x: plain([1.0]), (x,), (x,), strict=True)


def test_linearize_runs_the_function_once() -> None:
    runs = []

    def counted(x: Any) -> Any:
        runs.append(1)
        return op("sin", x), op("softmax", x, 0)

    x = plain([0.1, 0.2])
    value, along = func.linearize(counted, x)
    for direction in ([1.0, 0.0], [0.5, 2.0]):
        wanted = func.jvp(counted, (x,), (plain(direction),))[1]
        runs.pop()
        for a, b in zip(along(plain(direction)), wanted, strict=True):
            close(a, b.numpy())
    assert len(runs) == 1
    close(value[0], np.sin([0.1, 0.2]))


def test_complex_functions() -> None:
    z = leaf([0.3 + 0.4j], False, "complex128")
    t = leaf([1.0 - 2.0j], False, "complex128")
    for name, slope in (("exp", np.exp), ("sin", np.cos)):
        _, tangent = func.jvp(lambda z: op(name, z), (z,), (t,))  # noqa: B023
        close(tangent, slope(z.numpy()) * t.numpy())
    _, tangent = func.jvp(lambda z: op("abs", z), (z,), (t,))
    close(tangent, [(0.3 - 0.8) / 0.5])
    _, tangent = func.jvp(lambda z: op("conj", z), (z,), (t,))
    close(tangent, [1 + 2j])


def test_products_of_one_example_each() -> None:
    """functional's own, inside vmap."""
    xs = plain([[0.1, 0.2], [0.3, 0.4]])
    found = vmap(lambda x: functional.hvp(cube, x, x * 0 + 1)[1])(xs)
    close(found, 6 * xs.numpy())
    found = vmap(lambda x: functional.jacobian(lambda x: x * x, x))(xs)
    close(found, [np.diag([0.2, 0.4]), np.diag([0.6, 0.8])])
