"""What vmap promises beyond single ops: nesting, gradients both ways, numbers, writes, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.engine.calls import leaf, numbers, op, plain, write

from gradwire_engine import func
from gradwire_engine.backward import backward, grad
from gradwire_engine.batch.value import Batched
from gradwire_engine.errors import GradwireError
from gradwire_engine.levels import fresh
from gradwire_engine.mode import enable_grad, no_grad, using
from gradwire_engine.random import Generator
from gradwire_engine.tensor import Tensor
from gradwire_engine.vmap import vmap

ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def refused(code: str, raised: type[Exception], call: Callable[[], Any]) -> str:
    with pytest.raises(GradwireError) as problem:
        call()
    assert problem.value.code == code
    assert isinstance(problem.value, raised)
    return str(problem.value)


# arguments and results


def test_the_mapped_axis_may_be_any() -> None:
    x = plain(ROWS)
    for dim in (1, -1):
        assert numbers(vmap(lambda a: op("sum", a), in_dims=dim)(x)) == [5.0, 7.0, 9.0]


def test_what_is_not_mapped_is_the_same_for_all() -> None:
    x, y = plain(ROWS), plain([10.0, 20.0, 30.0])
    found = vmap(lambda a, b: a + b, in_dims=(0, None))(x, y)
    assert numbers(found) == [[11.0, 22.0, 33.0], [14.0, 25.0, 36.0]]


def test_arguments_may_be_nested() -> None:
    x, y = plain(ROWS), plain([10.0, 20.0, 30.0])

    def add(pair: dict[str, Any], factor: float) -> Any:
        return (pair["a"] + pair["b"][0]) * factor

    found = vmap(add, in_dims=({"a": 0, "b": None}, None))({"a": x, "b": [y]}, 2.0)
    assert numbers(found) == [[22.0, 44.0, 66.0], [28.0, 50.0, 72.0]]


def test_results_may_be_nested_each_with_its_axis() -> None:
    x = plain(ROWS)
    found = vmap(lambda a: {"v": a, "s": [op("sum", a)]}, out_dims={"v": 1, "s": 0})(x)
    assert numbers(found["v"]) == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    assert numbers(found["s"][0]) == [6.0, 15.0]
    assert vmap(lambda a: a, out_dims=-1)(x).shape == (3, 2)


def test_a_result_that_is_the_same_for_all_is_repeated() -> None:
    x, y = plain(ROWS), plain([7.0])
    assert numbers(vmap(lambda a: y)(x)) == [[7.0], [7.0]]
    assert vmap(lambda a: y, out_dims=None)(x) is y


def test_no_examples_are_a_batch_too() -> None:
    found = vmap(lambda a: op("histc", op("sin", a), 2))(plain(np.zeros((0, 3))))
    assert found.shape == (0, 2)


@pytest.mark.parametrize(
    ("call", "raised"),
    [
        (lambda x: vmap(lambda a, b: a + b, in_dims=(0, 1))(x, x), ValueError),
        (lambda x: vmap(lambda a: a, in_dims=None)(x), ValueError),
        (lambda x: vmap(lambda a, b: a, in_dims=(None, None))(x, x), ValueError),
        (lambda x: vmap(lambda a: a, in_dims=2)(x), ValueError),
        (lambda x: vmap(lambda a: a, in_dims=-3)(x), ValueError),
        (lambda x: vmap(lambda a, b: a, in_dims=(0,))(x, x), ValueError),
        (lambda x: vmap(lambda a: a, in_dims=({"c": 0},))({"a": x}), ValueError),
        (lambda x: vmap(lambda a, b: a)(x, 2.0), ValueError),
        (lambda x: vmap(lambda a, b: a, in_dims=(0, 1.5))(x, x), ValueError),
        (lambda x: vmap(lambda: 1)(), ValueError),
        (lambda x: vmap(lambda a: a)(plain(1.0)), ValueError),
        (lambda x: vmap(lambda a: 1)(x), ValueError),
        (lambda x: vmap(lambda a: a, out_dims=None)(x), ValueError),
        (lambda x: vmap(lambda a: a, out_dims=(0, 1))(x), ValueError),
        (lambda x: vmap(lambda a: a, out_dims=3)(x), IndexError),
        (lambda x: vmap(lambda a: a, randomness="some")(x), RuntimeError),
    ],
)
def test_wrong_uses_raise_what_torch_raises(
    call: Callable[[Tensor], Any], raised: type[Exception]
) -> None:
    refused("invalid_argument", raised, lambda: call(plain(ROWS)))


def test_errors_speak_of_one_example() -> None:
    x, y = plain(ROWS), plain([1.0, 2.0])
    text = refused(
        "shape_mismatch", RuntimeError, lambda: vmap(lambda a, b: a + b, in_dims=(0, None))(x, y)
    )
    assert "(3,), (2,)" in text


# nesting


def test_maps_nest() -> None:
    x, y = plain(ROWS), plain([1.0, 10.0])
    outer = vmap(lambda a: vmap(lambda b: a * b)(y))(x)
    assert outer.shape == (2, 2, 3)
    assert numbers(outer)[1] == [[4.0, 5.0, 6.0], [40.0, 50.0, 60.0]]


def test_an_inner_map_may_take_what_an_outer_one_has() -> None:
    x = plain(ROWS)
    found = vmap(lambda a: vmap(lambda b: b * op("sum", a))(a))(x)
    assert numbers(found) == [[6.0, 12.0, 18.0], [60.0, 75.0, 90.0]]


def test_a_product_with_what_is_the_same_for_all_is_one_product_of_matrices() -> None:
    x, w = plain(np.ones((5, 2, 3))), leaf(np.ones((3, 4)))
    y = vmap(lambda a: op("matmul", a, w))(x)
    assert [s.shape for s in y.grad_fn.call.inputs] == [(5, 2, 3), (3, 4)]
    z = vmap(lambda a: op("nn.functional.linear", a, op("transpose", w, 0, 1)))(x)
    assert [s and s.shape for s in z.grad_fn.call.inputs] == [(5, 2, 3), (4, 3), None]


def test_a_batched_scalar_promotes_as_a_scalar() -> None:
    factor, x = plain([1.0, 2.0]), leaf([1.0, 1.0], dtype="float32")
    found = vmap(lambda f, a: a * f, in_dims=(0, None))(factor, x)
    assert (found.dtype.name, found.shape) == ("float32", (2, 2))


# gradients


def test_a_gradient_goes_through_a_map() -> None:
    x = leaf(ROWS)
    y = vmap(lambda a: op("sum", a * a))(x)
    (g,) = grad([op("sum", y)], [x])
    assert numbers(g) == [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]


def slope(w: Any, a: Any) -> Any:
    return grad([op("sum", (w * a) ** 2)], [w])[0]


WANTED = [[2.0, 8.0, 18.0], [32.0, 50.0, 72.0]]
"""2 a² of the rows."""


def test_examples_have_gradients_of_their_own() -> None:
    w, x = plain([1.0, 1.0, 1.0]), plain(ROWS)
    per_example = vmap(lambda w, a: slope(fresh(w), a), in_dims=(None, 0))
    assert numbers(per_example(w, x)) == WANTED


def test_also_by_a_leaf_that_they_share() -> None:
    w, x = leaf([1.0, 1.0, 1.0]), plain(ROWS)
    assert numbers(vmap(slope, in_dims=(None, 0))(w, x)) == WANTED
    assert numbers(vmap(lambda a: slope(w, a))(x)) == WANTED


def test_and_where_the_map_is_of_both() -> None:
    w, x = leaf([[1.0, 1.0, 1.0]] * 2), plain(ROWS)
    assert numbers(vmap(slope)(w, x)) == WANTED


def test_a_hessian_is_a_map_of_gradients() -> None:
    x = leaf([1.0, 2.0])
    (g,) = grad([op("sum", x * x * x)], [x], create_graph=True)
    rows = plain([[1.0, 0.0], [0.0, 1.0]])
    found = vmap(lambda v: grad([g], [x], [v], retain_graph=True)[0])(rows)
    assert numbers(found) == [[6.0, 0.0], [0.0, 12.0]]


def test_a_gradient_of_gradients_of_examples() -> None:
    w, x = leaf([1.0, 1.0, 1.0]), plain(ROWS)

    def inner(w: Any, a: Any) -> Any:
        w = fresh(w)
        return grad([op("sum", (w * a) ** 3)], [w], create_graph=True)[0]

    per_example = vmap(inner, in_dims=(None, 0))(w, x)
    (g,) = grad([op("sum", per_example)], [w])
    assert numbers(g) == [6 * (1 + 64), 6 * (8 + 125), 6 * (27 + 216)]


def cubes(a: Any) -> Any:
    return op("sum", a * a * a)


def test_maps_and_forward_mode_go_into_each_other() -> None:
    x, t = plain(ROWS), plain([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    values, slopes = vmap(lambda a, b: func.jvp(cubes, (a,), (b,)))(x, t)
    assert numbers(values) == [36.0, 405.0]
    assert numbers(slopes) == [30.0, 75.0]
    values, slopes = func.jvp(vmap(cubes), (x,), (t,))
    assert numbers(values) == [36.0, 405.0]
    assert numbers(slopes) == [30.0, 75.0]


def test_second_derivatives_of_examples_by_both_modes() -> None:
    x, t = plain(ROWS), plain([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    wanted = [[6.0, 0.0, 18.0], [0.0, 30.0, 0.0]]  # 6 a b

    def forward_over_reverse(a: Any, b: Any) -> Any:
        return func.jvp(func.grad(cubes), (a,), (b,))[1]

    def reverse_over_forward(a: Any, b: Any) -> Any:
        return func.grad(lambda c: func.jvp(cubes, (c,), (b,))[1])(a)

    assert numbers(vmap(forward_over_reverse)(x, t)) == wanted
    assert numbers(vmap(reverse_over_forward)(x, t)) == wanted
    rows = vmap(lambda b: vmap(forward_over_reverse, in_dims=(0, None))(x, b))(t)
    assert numbers(rows)[0] == [[6.0, 0.0, 18.0], [24.0, 0.0, 36.0]]


@pytest.mark.parametrize("recorded", [False, True])
def test_cotangents_that_differ_where_nothing_else_does(recorded: bool) -> None:
    x, other = leaf([1.0, 2.0]), leaf([3.0, 5.0])
    y, total = op("mul", x, x), op("sum", other)

    def row(g: Any) -> Any:
        return grad([y, total], [x], [g, None], retain_graph=True)[0]

    def mixed(g: Any) -> Any:
        return grad([y, op("mul", x, g)], [x], [g, g], retain_graph=True)[0]

    with enable_grad() if recorded else no_grad():
        assert numbers(vmap(row)(plain([[1.0, 0.0], [0.0, 1.0]]))) == [[2, 0], [0, 4]]
    assert numbers(vmap(mixed)(plain([[1.0, 2.0], [3.0, 4.0]]))) == [[3, 12], [15, 32]]


def test_backward_is_refused_inside_a_map() -> None:
    x = leaf(ROWS)
    refused("untraceable", RuntimeError, lambda: vmap(lambda a: backward([op("sum", a)]))(x))


def test_an_example_that_is_not_reached_has_none_or_zeros() -> None:
    x, w = leaf(ROWS), leaf([1.0])

    def unused(a: Any, **options: Any) -> Any:
        return grad([op("sum", a)], [w], **options)[0]

    refused("unused_input", RuntimeError, lambda: vmap(unused)(x))
    assert vmap(lambda a: unused(a, allow_unused=True), out_dims=None)(x) is None
    assert numbers(vmap(lambda a: unused(a, materialize_grads=True))(x)) == [[0.0], [0.0]]


# batched cotangents


def test_batched_cotangents_give_rows_of_a_jacobian() -> None:
    x = leaf([1.0, 2.0, 3.0])
    (g,) = grad([x * x], [x], [plain(np.eye(3))], is_grads_batched=True)
    assert numbers(g) == np.diag([2.0, 4.0, 6.0]).tolist()


def test_batched_walks_free_the_graph_and_record_as_others_do() -> None:
    x = leaf([1.0, 2.0])
    y, rows = x * x, plain(np.eye(2))
    (g,) = grad([y], [x], [rows], create_graph=True, is_grads_batched=True)
    (h,) = grad([op("sum", g)], [x], retain_graph=True)
    assert numbers(h) == [2.0, 2.0]
    grad([y], [x], [rows], is_grads_batched=True)
    refused("graph_freed", RuntimeError, lambda: grad([y], [x], [rows], is_grads_batched=True))


def test_what_is_not_reached_is_none_or_zeros_of_its_own_shape() -> None:
    x, w = leaf([1.0, 2.0]), leaf([1.0])
    y, rows = x * x, plain(np.eye(2))
    options: dict[str, Any] = {"is_grads_batched": True, "retain_graph": True}
    assert grad([y], [x, w], [rows], allow_unused=True, **options)[1] is None
    assert numbers(grad([y], [x, w], [rows], materialize_grads=True, **options)[1]) == [0.0]


@pytest.mark.parametrize(
    ("rows", "raised"),
    [(np.ones((2, 3)), RuntimeError), (np.ones(2), RuntimeError), (np.ones(()), IndexError)],
)
def test_cotangents_must_be_a_batch_of_the_outputs_shape(
    rows: np.ndarray, raised: type[Exception]
) -> None:
    x = leaf([1.0, 2.0])
    refused(
        "shape_mismatch",
        raised,
        lambda: grad([x * x], [x], [plain(rows)], is_grads_batched=True),
    )


def test_all_cotangents_have_equally_many_rows() -> None:
    x = leaf([1.0, 2.0])
    given = [plain(np.ones((3, 2))), plain(np.ones((2, 2)))]
    ys = [x * x, x * 2]
    refused("shape_mismatch", ValueError, lambda: grad(ys, [x], given, is_grads_batched=True))


def test_batched_cotangents_inside_a_map() -> None:
    x, rows = leaf(ROWS), plain(np.eye(3))

    def jacobian(a: Any) -> Any:
        return grad([a * a], [a], [rows], is_grads_batched=True)[0]

    found = vmap(jacobian)(x)
    assert numbers(found) == [np.diag(2 * np.array(r)).tolist() for r in ROWS]


# random numbers


def drawn(randomness: str, name: str, *args: Any) -> np.ndarray:
    x = plain(np.full((4, 100), 0.5))
    with using(generator=Generator(1)):
        found = vmap(
            lambda a: op(name, *[a if v == "a" else v for v in args]), randomness=randomness
        )
        return np.asarray(found(x).array)


DRAWS = [
    ("rand_like", ("a",)),
    ("randn", ((100,),)),
    ("randperm", (100,)),
    ("randint_like", ("a", 1000)),
    ("nn.functional.dropout", ("a",)),
]


@pytest.mark.parametrize(("name", "args"), DRAWS)
def test_randomness_decides_what_random_ops_do(name: str, args: tuple[Any, ...]) -> None:
    refused("invalid_argument", RuntimeError, lambda: drawn("error", name, *args))
    same, different = drawn("same", name, *args), drawn("different", name, *args)
    assert same.shape == different.shape == (4, 100)
    assert (same == same[0]).all()
    assert not any((different[i] == different[0]).all() for i in range(1, 4))


@pytest.mark.parametrize(
    ("name", "args"), [("bernoulli", ("a",)), ("normal", ("a",)), ("multinomial", ("a", 50))]
)
def test_draws_by_elements_cannot_be_the_same(name: str, args: tuple[Any, ...]) -> None:
    refused("invalid_argument", RuntimeError, lambda: drawn("same", name, *args))
    different = drawn("different", name, *args)
    assert len({row.tobytes() for row in different}) == 4


def test_each_map_around_a_draw_has_its_say() -> None:
    def draws(inner: str, outer: str) -> Any:
        def one(a: Any) -> Any:
            return vmap(lambda b: op("rand", (5,)), randomness=inner)(a)

        with using(generator=Generator(3)):
            return vmap(one, randomness=outer)(plain(np.ones((2, 3)))).array

    rows = draws("different", "same")
    assert (rows[0] == rows[1]).all()
    assert (rows[0][0] != rows[0][1]).all()
    rows = draws("same", "different")
    assert (rows[0][0] == rows[0][1]).all()
    assert (rows[0] != rows[1]).all()


# writes


def test_writes_reach_the_tensor_that_is_mapped() -> None:
    x = plain(ROWS)
    vmap(lambda a: write("add_", a, a))(x)
    assert numbers(x) == [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]
    vmap(lambda a: write("__setitem__", a, 0, op("sum", a)))(x)
    assert numbers(x) == [[12.0, 4.0, 6.0], [30.0, 10.0, 12.0]]


def test_writes_through_views_are_recorded() -> None:
    x = leaf(ROWS)

    def squared_first(a: Any) -> Any:
        b = op("clone", a)
        first = op("select", b, 0, 0)
        write("mul_", first, op("clone", first))
        write("index_put_", b, [plain([2], "int64")], op("sum", a), True)
        return b

    y = vmap(squared_first)(x)
    assert numbers(y) == [[1.0, 2.0, 9.0], [16.0, 5.0, 21.0]]
    (g,) = grad([op("sum", y)], [x])
    assert numbers(g) == [[3.0, 2.0, 2.0], [9.0, 2.0, 2.0]]


def test_what_differs_cannot_be_written_to_what_is_the_same() -> None:
    x, y = plain(ROWS), plain([0.0, 0.0, 0.0])
    for name, where in (("add_", ()), ("copy_", ()), ("__setitem__", (slice(None),))):
        change = vmap(lambda a, name=name, where=where: write(name, y, *where, a))
        refused("view_in_place", RuntimeError, lambda change=change: change(x))
    assert (numbers(y), y.version) == ([0.0, 0.0, 0.0], 0)


# elements


@pytest.mark.parametrize(
    "look",
    [
        lambda a: a.array,
        lambda a: bool(op("sum", a) > 0),
        lambda a: op("nonzero", a),
        lambda a: op("masked_select", a, a > 2),
        lambda a: op("__getitem__", a, a > 2),
    ],
)
def test_elements_cannot_be_looked_at(look: Callable[[Any], Any]) -> None:
    refused("untraceable", RuntimeError, lambda: vmap(look)(plain(ROWS)))


def test_an_index_may_differ() -> None:
    x, i = plain(ROWS), plain([0, 2], "int64")
    assert numbers(vmap(lambda a, k: op("__getitem__", a, k))(x, i)) == [1.0, 6.0]


def test_a_batched_value_shows_one_example() -> None:
    seen: list[Any] = []

    def look(a: Any) -> Any:
        seen.append(a)
        return a

    vmap(look)(leaf(np.ones((4, 2, 3))))
    (a,) = seen
    assert isinstance(a, Batched)
    assert (a.shape, a.ndim, a.dtype.name, a.device) == ((2, 3), 2, "float64", "cpu")
    assert (a.requires_grad, a.is_leaf) == (True, False)
    assert "of 4" in repr(a)
