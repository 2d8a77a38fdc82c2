"""Checkpoints: the gradients of the same program without one, bit for bit, and less memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.engine.calls import leaf, numbers, op, plain, slopes, walk_back, write
from tests.engine.programs import Log, Python

from gradwire_engine.backward import backward, grad
from gradwire_engine.checkpoint import checkpoint
from gradwire_engine.errors import GradwireError
from gradwire_engine.fork import fork
from gradwire_engine.function import Made, apply
from gradwire_engine.function_rule import Function
from gradwire_engine.hooks import register_hook
from gradwire_engine.mode import local, no_grad, using
from gradwire_engine.random import Generator
from gradwire_engine.tape import Node
from gradwire_engine.tensor import Tensor
from gradwire_engine.vmap import vmap

pytestmark = pytest.mark.usefixtures("each_library")


def layers(x: Tensor, w: Tensor, count: int = 4) -> tuple[Tensor, ...]:
    for _ in range(count):
        x = op("tanh", op("matmul", x, w))
    return (x,)


def operands(size: int = 3) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(0)
    return leaf(rng.normal(size=(2, size))), leaf(rng.normal(size=(size, size)))


def held(*tensors: Tensor) -> int:
    """Bytes that the graph behind these keeps, leaves aside."""
    stack: list[Any] = [t.grad_fn for t in tensors]
    nodes: set[Node] = set()
    while stack:
        node = stack.pop()
        if type(node) is Node and node not in nodes:
            nodes.add(node)
            stack += [following for following, _ in node.next_functions]
    storages = {s.storage for node in nodes for s in node.held if type(s) is Tensor}
    return sum(storage.nbytes for storage in storages)


def test_gradients_are_equal_bit_for_bit() -> None:
    x, w = operands()
    (plain_,) = layers(x, w)
    (packed,) = checkpoint(layers, (x, w))
    assert numbers(plain_) == numbers(packed)
    assert slopes(plain_, x, w) == slopes(packed, x, w)


def test_the_graph_is_the_same() -> None:
    x, w = operands()
    (y,) = checkpoint(layers, (x, w))
    names = []
    node: Any = y.grad_fn
    while node.next_functions:
        names.append(node.name())
        node = node.next_functions[0][0]
    assert names == ["TanhBackward0", "MmBackward0"] * 4
    assert node.name() == "AccumulateGrad"


def test_only_arguments_are_held_and_freed_after() -> None:
    x, w = operands(10)
    (y,), (z,) = layers(x, w, 40), checkpoint(lambda x, w: layers(x, w, 40), (x, w))
    assert held(z) == x.spec.nbytes + w.spec.nbytes
    assert held(y) > 5 * held(z)
    walk_back(z)
    assert held(z) == 0


def test_a_walk_forgets_what_newer_nodes_needed() -> None:
    """Segments of eight: a walk holds one segment's values, not all."""
    x, w = operands(4)
    runs = Log()

    def segment(x: Tensor, w: Tensor) -> tuple[Tensor, ...]:
        runs.append(numbers(x))
        return layers(x, w, 8)

    kept: list[int] = []
    y = x
    for _ in range(8):
        (y,) = checkpoint(segment, (y, w))
        register_hook(y, Python(lambda g: kept.append(sum(map(len, _recomputed().values())))))
    forward = list(runs)
    runs.clear()
    walk_back(y)
    assert runs == forward[::-1]  # each once more, the newest first
    assert max(kept) == 1  # of sixteen
    (z,) = layers(x, w, 64)
    assert slopes(z, x, w) == [numbers(x.grad), numbers(w.grad)]


def _recomputed() -> dict[Any, Any]:
    found = local.state.recomputed
    assert found is not None
    return found


def test_walks_again_run_again() -> None:
    x, w = operands()
    (y,) = checkpoint(layers, (x, w))
    first = slopes(y, x, w)
    assert slopes(y, x, w) == first
    walk_back(y)
    with pytest.raises(GradwireError) as caught:
        walk_back(y)
    assert caught.value.code == "graph_freed"


@pytest.mark.parametrize("preserved", [True, False])
def test_random_numbers_are_the_same_unless_asked_otherwise(preserved: bool) -> None:
    x = leaf(np.ones(1000))
    drop = lambda x: (op("nn.functional.dropout", x, 0.5),)  # noqa: E731
    with using(generator=Generator(7)):
        (y,) = checkpoint(drop, (x,), preserve_rng_state=preserved)
        after = op("rand", 3)
        same = slopes(y, x) == [numbers(y)]
        assert same is preserved
    with using(generator=Generator(7)):
        drop(x)
        assert numbers(op("rand", 3)) == numbers(after)  # the walk draws from no one else's


def test_the_walk_leaves_the_random_state_alone() -> None:
    x = leaf(np.ones(10))
    with using(generator=Generator(7)) as _:
        generator = Generator(7)
        with using(generator=generator):
            (y,) = checkpoint(lambda x: (op("nn.functional.dropout", x, 0.5),), (x,))
            draws = generator.draws
            walk_back(y)
            assert generator.draws == draws


def test_nested() -> None:
    x, w = operands()
    inner = lambda x, w: checkpoint(layers, (x, w))  # noqa: E731

    def outer(x: Tensor, w: Tensor) -> tuple[Tensor, ...]:
        (y,) = inner(x, w)
        return inner(op("mul", y, 2), w)

    (y,) = checkpoint(outer, (x, w))
    (z,) = layers(op("mul", layers(x, w)[0], 2), w)
    assert slopes(y, x, w) == slopes(z, x, w)
    assert held(y) == x.spec.nbytes + w.spec.nbytes


def test_create_graph() -> None:
    x, w = operands()

    def second(run: Callable[..., Any]) -> list[Any]:
        (y,) = run(x, w)
        first = grad([op("sum", y)], [x, w], create_graph=True)
        total = op("add", op("sum", op("pow", first[0], 2)), op("sum", op("pow", first[1], 2)))
        return slopes(total, x, w)

    assert second(layers) == second(lambda *args: checkpoint(layers, args))


def test_batched_cotangents_and_vmap() -> None:
    x = leaf([1.0, 2.0])
    program = lambda x: (op("exp", op("mul", x, x)),)  # noqa: E731
    rows = plain([[1, 0], [0, 1]])
    found = [
        numbers(grad([y], [x], [rows], is_grads_batched=True)[0])
        for (y,) in (program(x), checkpoint(program, (x,)))
    ]
    assert found[0] == found[1]
    over = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = vmap(lambda row: checkpoint(program, (row,))[0])(over)
    assert slopes(y, over) == slopes(program(over)[0], over)


def test_only_what_is_asked_for() -> None:
    x, w = operands()
    (y,), (z,) = layers(x, w), checkpoint(layers, (x, w))
    assert numbers(grad([op("sum", z)], [w])[0]) == numbers(grad([op("sum", y)], [w])[0])


def test_an_argument_changed_in_place_is_found() -> None:
    x, w = operands()
    h = op("mul", x, 1)
    (y,) = checkpoint(layers, (h, w))
    write("mul_", h, 2)
    with pytest.raises(GradwireError) as caught:
        walk_back(y)
    assert caught.value.code == "modified_in_place"
    assert "argument 0" in caught.value.detail and "version 1" in caught.value.detail
    assert x.grad is None


def test_writes_inside_are_done_again() -> None:
    x = leaf([1.0, 2.0])

    def program(x: Tensor) -> tuple[Tensor, ...]:
        h = op("mul", x, 3)
        write("mul_", h, x)
        write("exp_", h)
        return (h,)

    (y,), (z,) = program(x), checkpoint(program, (x,))
    assert slopes(z, x) == slopes(y, x)


def test_a_program_that_does_something_else_the_second_time_is_found() -> None:
    x, count = leaf([1.0, 2.0]), [0]

    def program(x: Tensor) -> tuple[Tensor, ...]:
        count[0] += 1
        return (op("exp" if count[0] == 1 else "sin", x),)

    (y,) = checkpoint(program, (x,))
    with pytest.raises(GradwireError) as caught:
        walk_back(y)
    assert caught.value.code == "invalid_argument"
    assert "something else" in caught.value.detail


def test_without_grad_mode_it_is_a_call() -> None:
    x, w = operands()
    with no_grad():
        (y,) = checkpoint(layers, (x, w))
    assert not y.requires_grad


def test_arguments_that_are_no_tensors_and_several_results() -> None:
    x = leaf([1.0, 2.0])
    a, b = checkpoint(lambda x, k, word: (op("mul", x, k), op("exp", x)), (x, 3, "word"))
    assert slopes(op("add", a, b), x) == [[3 + np.exp(1), 3 + np.exp(2)]]


def test_tensors_from_outside_get_gradients_too() -> None:
    x, w = operands()
    (y,) = checkpoint(lambda x: layers(x, w), (x,))
    assert slopes(y, x, w) == slopes(layers(x, w)[0], x, w)


def test_hooks_inside_run_once() -> None:
    log, x = Log(), leaf([1.0])

    def program(x: Tensor) -> tuple[Tensor, ...]:
        h = op("mul", x, 2)
        register_hook(h, log.note("h"))
        return (op("exp", h),)

    (y,) = checkpoint(program, (x,))
    backward([op("mul", op("sum", y), 0)])
    assert log == [("h", [0])]


def test_a_custom_function_inside() -> None:
    x = leaf([1.0, 2.0])
    made = Function("Square", Python(lambda x, g: op("mul", op("mul", x, 2), g)))

    def program(x: Tensor) -> tuple[Tensor, ...]:
        h = op("exp", x)
        return tuple(apply(lambda h: Made(made, (op("mul", h, h),), (h,)), (h,)))

    (y,) = checkpoint(program, (x,))
    np.testing.assert_allclose(slopes(y, x)[0], 2 * np.exp([2, 4]))
    assert held(y) == x.spec.nbytes


def test_forks_run_on_their_own() -> None:
    x, w = operands()
    (y,) = checkpoint(layers, (x, w))
    two = fork({"x": x, "w": w, "y": y})
    with no_grad():
        write("mul_", two["w"], 2)
    expected = slopes(layers(x, w)[0], x, w)
    assert slopes(y, x, w) == expected
    with pytest.raises(GradwireError):
        walk_back(two["y"])


def test_a_result_written_in_place_afterwards() -> None:
    x = leaf([1.0, 2.0])
    (y,) = checkpoint(lambda x: (op("exp", x),), (x,))
    write("add_", y, plain([1, 1]))
    assert slopes(y, x) == [[np.exp(1), np.exp(2)]]
