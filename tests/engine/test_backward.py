"""grad and backward: every argument, every refusal, and that a failed walk changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from weakref import ref

import numpy as np
import pytest

from gradwire_engine.backward import backward, grad
from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.errors import GradwireError
from gradwire_engine.inplace import write
from gradwire_engine.mode import inference_mode, no_grad
from gradwire_engine.tensor import Tensor

exp, sum_ = CATALOGUE["exp"], CATALOGUE["sum"]


def leaf(*values: float, dtype: str = "float64") -> Tensor:
    return Tensor.of(np.array(values, dtype), requires_grad=True)


def refused(code: str, run: Callable[[], object]) -> GradwireError:
    with pytest.raises(GradwireError) as caught:
        run()
    assert caught.value.code == code
    assert caught.value.detail
    return caught.value


def test_grad_returns_and_touches_nothing() -> None:
    x = leaf(1, 2, 3)
    (g,) = grad([sum_(x * x)], [x])
    assert g is not None
    np.testing.assert_array_equal(g.array, [2, 4, 6])
    assert x.grad is None
    assert not g.requires_grad


def test_an_output_named_twice_counts_twice() -> None:
    x = leaf(2)
    y = sum_(x * x)
    (g,) = grad([y, y], [x])
    assert g is not None and g.array[0] == 8


def test_backward_sums_into_the_same_gradient_tensor() -> None:
    x = leaf(3)
    backward([sum_(x * x)])
    first = x.grad
    backward([sum_(x * x)])
    assert x.grad is first
    assert first is not None and first.array[0] == 12
    assert first.version == 1


def test_with_create_graph_the_gradient_is_a_new_tensor_each_time() -> None:
    x = leaf(3)
    backward([sum_(x * x)], create_graph=True)
    first = x.grad
    backward([sum_(x * x)], create_graph=True)
    assert x.grad is not first
    assert x.grad is not None and x.grad.requires_grad


def test_gradients_of_two_leaves_do_not_share_memory_that_can_be_written() -> None:
    x, y = leaf(1), leaf(2)
    backward([sum_(x + y)])
    assert x.grad is not None and y.grad is not None
    with no_grad():
        write("mul_", x.grad, x.grad * 5.0)
    assert (x.grad.array[0], y.grad.array[0]) == (5, 1)


def test_backward_into_inputs_only() -> None:
    x, y = leaf(2), leaf(3)
    middle = x * y
    backward([sum_(middle * y)], inputs=[x, middle])
    assert x.grad is not None and x.grad.array[0] == 9
    assert middle.grad is not None and middle.grad.array[0] == 3
    assert y.grad is None


def test_a_second_walk_needs_retain_graph() -> None:
    x = leaf(1)
    y = sum_(exp(x))
    backward([y], retain_graph=True)
    backward([y])
    problem = refused("graph_freed", lambda: backward([y]))
    assert "ExpBackward0" in problem.detail
    assert isinstance(problem, RuntimeError)


def test_nodes_that_saved_nothing_can_be_walked_again() -> None:
    x = leaf(1)
    y = sum_(x + x)
    backward([y])
    backward([y])
    assert x.grad is not None and x.grad.array[0] == 4


def test_a_failed_walk_changes_no_gradient_and_frees_nothing() -> None:
    x = leaf(1.0)
    z = leaf(2.0)
    y = exp(x)
    good = exp(z)
    out = sum_(y * 1.0) + sum_(good)
    with no_grad():
        write("add_", y, y + 1.0)
    refused("modified_in_place", lambda: backward([out]))
    assert x.grad is None and z.grad is None
    assert good.grad_fn is not None and not good.grad_fn.freed


def test_the_gradient_of_a_leaf_that_is_gone_is_still_added_to() -> None:
    """Its name may be all that is left; the graph holds neither of them."""
    x = Tensor.of(np.ones(2), requires_grad=True)
    y = sum_(CATALOGUE["mul"](x, 2))
    backward([y], retain_graph=True)
    kept, gone = x.grad, ref(x)
    assert kept is not None
    del x
    assert gone() is None
    backward([y], retain_graph=True)
    assert (kept.numpy().tolist(), kept.version) == ([4.0, 4.0], 1)
    again = ref(kept)
    del kept
    assert again() is None
    backward([y])


def test_a_gradient_that_was_taken_away_is_not_added_to() -> None:
    x = Tensor.of(np.ones(2), requires_grad=True)
    y = sum_(CATALOGUE["mul"](x, 2))
    backward([y], retain_graph=True)
    kept = x.grad
    x.set_grad(None)
    del x
    backward([y])
    assert kept is not None
    assert kept.numpy().tolist() == [2.0, 2.0]


def test_unused_inputs() -> None:
    x, y = leaf(1), leaf(2)
    out = sum_(x * x)
    assert "input 1" in refused("unused_input", lambda: grad([out], [x, y])).detail
    out = sum_(x * x)
    assert grad([out], [x, y], allow_unused=True, retain_graph=True)[1] is None
    zero = grad([out], [x, y], materialize_grads=True)[1]
    assert zero is not None and zero.array[0] == 0
    refused(
        "invalid_argument",
        lambda: grad([out], [x, y], allow_unused=False, materialize_grads=True),
    )


def test_outputs_and_inputs_must_require_grad() -> None:
    x, constant = leaf(1), Tensor.of(np.ones(1))
    assert "output 0" in refused("requires_no_grad", lambda: backward([sum_(constant)])).detail
    refused("requires_no_grad", lambda: grad([sum_(x * constant)], [constant]))


def test_only_scalars_have_an_implicit_cotangent() -> None:
    x = leaf(1, 2)
    problem = refused("not_scalar", lambda: backward([x * x]))
    assert "[2]" in problem.detail
    assert all(way in str(problem.hint) for way in (".sum()", "grad_outputs", "jacobian"))


@pytest.mark.parametrize(
    ("cotangent", "code"),
    [(np.ones(3), "shape_mismatch"), (np.ones(2, complex), "dtype_mismatch")],
)
def test_cotangents_must_match(cotangent: np.ndarray, code: str) -> None:
    x = leaf(1, 2)
    refused(code, lambda: grad([x * x], [x], [Tensor.of(cotangent)]))


def test_as_many_cotangents_as_outputs() -> None:
    x = leaf(1, 2)
    refused("invalid_argument", lambda: grad([x * x], [x], [None, None]))
    refused("invalid_argument", lambda: grad([x * x], []))
    refused("invalid_argument", lambda: backward([]))


def test_third_order() -> None:
    x = leaf(2)
    y = sum_(x * x * x * x)
    for expected in (32.0, 48.0, 48.0):
        (g,) = grad([y], [x], create_graph=True)
        assert g is not None and g.array[0] == expected
        y = sum_(g)


def test_mixed_partials_through_backward() -> None:
    x, y = leaf(2), leaf(3)
    backward([sum_(x * x * y)], create_graph=True)
    assert x.grad is not None
    (mixed,) = grad([sum_(x.grad)], [y])
    assert mixed is not None and mixed.array[0] == 4


def test_a_gradient_takes_its_operands_dtype_and_shape() -> None:
    x = Tensor.of(np.ones((2, 1), "float32"), requires_grad=True)
    y = Tensor.of(np.ones((3,), "complex128"), requires_grad=True)
    gx, gy = grad([CATALOGUE["real"](sum_(x * y))], [x, y])
    assert gx is not None and gy is not None
    assert (gx.dtype.name, gx.shape) == ("float32", (2, 1))
    assert (gy.dtype.name, gy.shape) == ("complex128", (3,))


def test_retain_grad_on_a_non_leaf() -> None:
    x = leaf(2)
    y = x * x
    y.retain_grad()
    backward([sum_(y * 3.0)])
    assert y.grad is not None and y.grad.array[0] == 3
    assert y.retains_grad


def test_nothing_is_recorded_in_no_grad_and_inference_mode() -> None:
    x = leaf(1)
    with no_grad():
        assert not (x * x).requires_grad
    with inference_mode():
        made = x * x
    assert made.is_inference and not made.requires_grad
    refused("inference_tensor", lambda: x * made)


def test_a_deep_graph_walks_without_recursion() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    backward([sum_(y)])
    assert x.grad is not None and x.grad.array[0] == 1


@pytest.mark.slow
def test_a_chain_of_a_million_nodes_is_walked_and_given_back() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(1_000_000):
        y = y * 1.0
    (g,) = grad([sum_(y)], [x])
    assert g is not None and g.array[0] == 1
    del y  # a million nodes, each holding the next


def test_a_shared_node_is_walked_once() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(60):
        y = y + y  # 2**60 paths, 60 nodes
    (g,) = grad([sum_(y)], [x])
    assert g is not None and g.array[0] == 2.0**60
