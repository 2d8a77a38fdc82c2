"""Forks: the same cells once more; neither side sees what the other does."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest
from tests.engine.calls import leaf, numbers, op, plain, slopes, walk_back, write
from tests.engine.programs import Log

from gradwire_engine.backward import backward
from gradwire_engine.checkpoint import checkpoint
from gradwire_engine.errors import GradwireError
from gradwire_engine.fork import _FILL, _Copies, fork, fork_all
from gradwire_engine.hooks import register_hook
from gradwire_engine.mode import no_grad
from gradwire_engine.tape import Bound
from gradwire_engine.tensor import Tensor

pytestmark = pytest.mark.usefixtures("each_library")


def session() -> dict[str, Tensor]:
    """A leaf, what was made of it, a view, a leaf with a gradient, and a retained gradient."""
    x, w = leaf([1, 2, 3, 4]), leaf([2, 3, 4, 5])
    y = op("mul", x, w)
    y.retain_grad()
    z = op("exp", op("slice", y, 0, 0, 2))
    w.set_grad(plain([1, 1, 1, 1]))
    return {"x": x, "w": w, "y": y, "view": op("slice", y, 0, 0, 2), "z": z}


def state(tensors: dict[str, Tensor]) -> dict[str, object]:
    """All that can be told of tensors without walking."""
    return {
        name: (numbers(t), t.version, t.requires_grad, t.is_leaf, numbers(t.grad), t.retains_grad)
        for name, t in tensors.items()
    }


def test_a_fork_says_what_its_origin_says() -> None:
    one = session()
    two = fork(one)
    assert state(one) == state(two)
    for name in one:
        assert two[name] is not one[name]
        mine, other = one[name].grad_fn, two[name].grad_fn
        assert (mine is None) == (other is None)
        assert mine is None or (mine is not other and mine.name() == other.name())  # type: ignore[union-attr]


def test_a_fork_shares_every_array() -> None:
    one = session()
    two = fork(one)
    assert all(one[n].storage.array is two[n].storage.array for n in one)


def test_every_slot_of_every_kind_of_cell_is_copied() -> None:
    one = session()
    one["several"] = op("exp", op("unbind", one["x"])[0])
    one["again"] = checkpoint(lambda x: (op("exp", x),), (one["x"],))[0]
    copies = _Copies()
    for tensor in one.values():
        copies.of(tensor)
    copies.of(register_hook(one["x"], Bound(Log().note(), (one["w"],))))
    copies.finish()
    kinds = {type(cell) for cell in copies.made.values()}
    assert kinds == set(_FILL)
    for cell in copies.made.values():
        for slot in set(type(cell).__slots__) - {"__weakref__"}:
            assert hasattr(cell, slot), (type(cell).__name__, slot)


def test_cells_that_were_one_stay_one() -> None:
    one = session()
    two = fork({**one, "again": one["x"]})
    assert two["again"] is two["x"]
    assert two["view"].storage is two["y"].storage
    assert two["view"].view is not None
    assert two["view"].view.base is two["y"]
    assert two["y"].grad_fn is not None
    assert two["y"].grad_fn.saved[0] is two["w"] or two["y"].grad_fn.saved[0] is two["x"]


def test_walks_of_one_free_nothing_of_the_other() -> None:
    one = session()
    two = fork(one)
    walk_back(one["z"])
    assert two["x"].grad is None
    assert numbers(two["w"].grad) == [1, 1, 1, 1]
    assert two["y"].grad is None
    assert one["y"].grad is not None
    with pytest.raises(GradwireError) as problem:
        walk_back(one["z"])
    assert problem.value.code == "graph_freed"
    walk_back(two["z"])
    assert numbers(two["x"].grad) == numbers(one["x"].grad)
    assert numbers(two["y"].grad) == numbers(one["y"].grad)
    assert numbers(two["w"].grad) == numbers(one["w"].grad)


@pytest.mark.parametrize("forked_writes", [False, True])
@pytest.mark.parametrize(
    "name", ["mul_", "fill_", "__setitem__", "through a view", "in no_grad", "detached"]
)
def test_writes_of_one_are_not_seen_by_the_other(name: str, forked_writes: bool) -> None:
    one = session()
    two = fork(one)
    writer, other = (two, one) if forked_writes else (one, two)
    before = state(other)
    if name == "__setitem__":
        write(name, writer["y"], 1, 9.0)
    elif name == "through a view":
        write("mul_", writer["view"], 2)
    elif name == "in no_grad":
        with no_grad():
            write("mul_", writer["x"], 2)
            write("add_", op("slice", writer["x"], 0, 1, 3), 1)
    elif name == "detached":
        write("mul_", op("slice", writer["y"].detach(), 0, 0, 1), 2)
    else:
        write(name, writer["y"], 2)
    assert state(other) == before
    assert state(writer) != before
    assert slopes(op("sum", other["view"]), other["x"]) == [[2, 3, 0, 0]]
    np.testing.assert_allclose(slopes(other["z"], other["x"])[0][0], 2 * np.exp(2))


def test_a_write_in_place_finds_no_saved_tensor_of_the_other_side() -> None:
    one = session()
    two = fork(one)
    with no_grad():
        write("mul_", one["w"], 2)
    walk_back(two["y"])
    with pytest.raises(GradwireError) as problem:
        walk_back(one["y"])
    assert problem.value.code == "modified_in_place"


def test_gradients_flags_and_leaves_are_apart() -> None:
    one = session()
    two = fork(one)
    two["w"].set_grad(None)
    two["w"].requires_grad_(False)
    assert numbers(one["w"].grad) == [1, 1, 1, 1]
    assert one["w"].requires_grad
    grad = one["w"].grad
    assert grad is not None
    write("zero_", grad)
    assert two["w"].grad is None
    three = fork(one)
    walk_back(op("mul", three["w"], 2))
    assert numbers(three["w"].grad) == [2, 2, 2, 2]
    assert numbers(one["w"].grad) == [0, 0, 0, 0]


def test_a_fork_lives_on_without_its_origin() -> None:
    two = fork(session())
    three = fork(two)
    del two
    walk_back(three["z"])
    np.testing.assert_allclose(numbers(three["x"].grad)[:2], [2 * np.exp(2), 3 * np.exp(6)])


def test_a_leaf_that_nobody_names_still_passes_gradients_by() -> None:
    x = leaf([1, 2])
    y = op("mul", op("mul", x, leaf([3, 4])), 2)
    two = fork({"x": x, "y": y})
    walk_back(two["y"])
    assert numbers(two["x"].grad) == [6, 8]


def test_second_derivatives_of_a_fork() -> None:
    x = leaf([1.0, 2.0])
    y = op("pow", x, 3)
    backward([op("sum", y)], create_graph=True)
    two = fork({"x": x, "y": y})
    gradient = two["x"].grad
    assert gradient is not None
    assert slopes(gradient, two["x"]) == [[6, 12]]


def test_a_hundred_thousand_nodes_are_forked_without_recursion() -> None:
    x = leaf([1.0])
    y = x
    for _ in range(100_000):
        y = op("neg", y)
    two = fork({"x": x, "y": y})
    walk_back(two["y"])
    assert numbers(two["x"].grad) == [1]
    assert x.grad is None


def test_the_cost_does_not_grow_with_the_arrays() -> None:
    def seconds(size: int) -> float:
        x = leaf(np.zeros(size))
        y = op("mul", op("exp", x), x)
        start = perf_counter()
        for _ in range(20):
            fork({"x": x, "y": y, "view": op("slice", y, 0, 0, 2)})
        return perf_counter() - start

    small, large = min(seconds(10) for _ in range(5)), min(seconds(2_000_000) for _ in range(5))
    assert large < 5 * small


def test_a_fork_knows_what_a_frozen_leaf_will_record_at() -> None:
    x = leaf([1, 2])
    log = Log()
    register_hook(x, log.note())
    y = op("sum", op("mul", x, 3))
    x.requires_grad_(False)
    twin = fork({"x": x, "y": y})
    for tensors in ({"x": x, "y": y}, twin):
        tensors["x"].requires_grad_()
        walk_back(tensors["y"])
        assert numbers(tensors["x"].grad) == [3, 3]
    assert len(log) == 2


def test_a_fork_keeps_the_hooks_of_what_was_detached_in_place() -> None:
    x, log = leaf([1, 2]), Log()
    y = op("mul", x, 2)
    handle = register_hook(y, log.note())
    older = op("sum", y)
    write("detach_", y)
    (there,) = fork_all({"y": y, "older": older, "handle": handle})
    handle.remove()
    walk_back(older)
    assert not log
    there["y"].requires_grad_()
    walk_back(op("sum", there["y"]))
    walk_back(there["older"])
    assert len(log) == 2
    there["handle"].remove()
    walk_back(op("sum", there["y"]))
    assert len(log) == 2
