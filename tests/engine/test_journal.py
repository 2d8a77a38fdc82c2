"""All or nothing: what a transaction wrote is undone when it fails, and kept when it doesn't."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from gradwire_engine.backward import backward
from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.inplace import write
from gradwire_engine.journal import assign, drop, put, transaction
from gradwire_engine.mode import current, no_grad, using
from gradwire_engine.random import Generator
from gradwire_engine.tensor import Tensor

sum_, view = CATALOGUE["sum"], CATALOGUE["view"]


class Stop(Exception):
    """Ends a transaction badly."""


def leaf(*values: float) -> Tensor:
    return Tensor.of(np.array(values, "float64"), requires_grad=True)


def test_gradients_and_freed_nodes_are_undone() -> None:
    x = leaf(1, 2)
    y = sum_(x * x)
    with pytest.raises(Stop), transaction():
        backward([y])
        assert x.grad is not None
        raise Stop
    assert x.grad is None
    backward([y])  # its saved tensors came back
    assert x.grad is not None


def test_an_accumulated_gradient_goes_back_to_what_it_was() -> None:
    x = leaf(3)
    backward([sum_(x * x)])
    before = x.grad
    assert before is not None
    with pytest.raises(Stop), transaction():
        backward([sum_(x * x)])
        raise Stop
    assert x.grad is before
    assert (before.array[0], before.version) == (6, 0)


@pytest.mark.parametrize("through_view", [False, True])
def test_in_place_writes_are_undone_with_version_and_history(through_view: bool) -> None:
    x = leaf(1, 2)
    y = x * 2.0
    node, array = y.edge, y.array
    seen = view(y, (2, 1))
    target = seen if through_view else y
    with pytest.raises(Stop), transaction():
        write("mul_", target, target * 10.0)
        write("mul_", target, target * 10.0)
        np.testing.assert_array_equal(y.array, [200, 400])
        raise Stop
    assert y.array is array and y.version == 0 and y.edge is node
    np.testing.assert_array_equal(seen.array, [[2], [4]])


def test_what_a_failed_transaction_held_is_not_written() -> None:
    """A reply in flight, a fork or a saved tensor keeps the array it has."""
    y = Tensor.of(np.arange(4.0))
    held = y.array
    part = view(y, (2, 2))
    with no_grad():
        write("add_", part, part + 1.0)
    np.testing.assert_array_equal(held, [0, 1, 2, 3])
    np.testing.assert_array_equal(y.array, [1, 2, 3, 4])


def test_random_state_is_undone() -> None:
    generator = Generator(1)
    first = generator.next_stream("cpu").standard_normal(3)
    with pytest.raises(Stop), transaction():
        generator.next_stream("cpu")
        generator.restart(99)
        raise Stop
    again = Generator(1)
    np.testing.assert_array_equal(again.next_stream("cpu").standard_normal(3), first)
    np.testing.assert_array_equal(
        again.next_stream("cpu").standard_normal(3), generator.next_stream("cpu").standard_normal(3)
    )


def test_dictionaries_and_attributes() -> None:
    names = {"a": 1, "b": 2}
    state = current()
    with pytest.raises(Stop), transaction():
        put(names, "a", 10)
        put(names, "c", 3)
        drop(names, "b")
        drop(names, "absent")
        assign(state, "device", "meta")
        raise Stop
    assert names == {"a": 1, "b": 2}
    assert state.device == "cpu"


def test_a_nested_transaction_undoes_its_own_part_only() -> None:
    names: dict[str, int] = {}
    with transaction():
        put(names, "outer", 1)
        with pytest.raises(Stop), transaction():
            put(names, "inner", 2)
            raise Stop
    assert names == {"outer": 1}
    assert current().journal is None


def test_the_collector_rests_inside_and_runs_again_after() -> None:
    assert gc.isenabled()
    with transaction(), transaction():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_using_puts_back_what_was() -> None:
    state = current()
    with pytest.raises(Stop), using(grad=False, device="meta"):
        raise Stop
    assert state.grad and state.device == "cpu"
