"""In-place changes of form: t_, transpose_, squeeze_, unsqueeze_, with views of the old form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire_engine.backward import backward, grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.fork import fork
from gradwire_engine.inplace import call
from gradwire_engine.journal import transaction
from gradwire_engine.mode import no_grad
from gradwire_engine.tensor import Tensor


def leaf() -> Tensor:
    return Tensor.of(np.arange(6.0).reshape(2, 3), requires_grad=True)


def times(x: Any, factor: float) -> Tensor:
    made: Tensor = resolve("mul")(x, factor)
    return made


@pytest.mark.parametrize(
    ("name", "args", "shape"),
    [
        ("t_", (), (3, 2)),
        ("transpose_", (0, 1), (3, 2)),
        ("swapaxes_", (0, -1), (3, 2)),
        ("unsqueeze_", (1,), (2, 1, 3)),
    ],
)
def test_the_form_changes_and_the_write_counts(name: str, args: Any, shape: Any) -> None:
    x = leaf()
    y = times(x, 2)
    call(name, [y, *args], {})
    assert (y.shape, y.version) == (shape, 1)
    weights = Tensor.of(np.arange(6.0).reshape(shape))
    (g,) = grad([resolve("sum")(resolve("mul")(y, weights))], [x])
    back = resolve(name.removesuffix("_"))
    undone = weights.array.reshape(2, 3) if name == "unsqueeze_" else weights.array.T
    assert back is not None and np.array_equal(g.numpy(), 2 * undone)


def test_squeeze_drops_all_or_named_axes() -> None:
    x = Tensor.of(np.ones((1, 2, 1)))
    call("squeeze_", [x, 0], {})
    assert x.shape == (2, 1)
    call("squeeze_", [x], {})
    assert (x.shape, x.version) == ((2,), 2)


def test_views_of_the_old_form_keep_it() -> None:
    x = leaf()
    y = times(x, 1)
    row = resolve("select")(y, 0, 1)
    call("t_", [y], {})
    call("mul_", [row, 3], {})
    assert np.array_equal(y.numpy(), [[0, 9], [1, 12], [2, 15]])
    (g,) = grad([resolve("sum")(y)], [x])
    assert np.array_equal(g.numpy(), [[1, 1, 1], [3, 3, 3]])


def test_a_write_after_the_change_reaches_views_of_the_old_form() -> None:
    x = leaf()
    y = times(x, 1)
    row = resolve("select")(y, 0, 1)
    call("t_", [y], {})
    call("mul_", [y, Tensor.of(np.arange(6.0).reshape(3, 2))], {})
    assert np.array_equal(row.numpy(), [3, 12, 25])
    (g,) = grad([resolve("sum")(row)], [x])
    assert np.array_equal(g.numpy(), [[0, 0, 0], [1, 3, 5]])


def test_a_view_changes_its_form_alone() -> None:
    x = leaf()
    y = times(x, 1)
    part = resolve("slice")(y, 1, 0, 2, 1)
    call("t_", [part], {})
    assert (part.shape, y.shape, y.version) == ((2, 2), (2, 3), 1)
    call("mul_", [part, 2], {})
    (g,) = grad([resolve("sum")(y)], [x])
    assert np.array_equal(g.numpy(), [[2, 2, 1], [2, 2, 1]])


def test_what_is_refused_changes_nothing() -> None:
    x = leaf()
    with pytest.raises(GradwireError) as found, transaction():
        call("t_", [x], {})
    assert (found.value.code, x.shape, x.version) == ("leaf_in_place", (2, 3), 0)
    part, _ = resolve("split")(times(x, 1), 1)
    with pytest.raises(GradwireError) as found:
        call("squeeze_", [part], {})
    assert found.value.code == "view_in_place"


def test_a_failed_transaction_gives_the_form_back() -> None:
    x = leaf()
    y = times(x, 1)
    with pytest.raises(RuntimeError), transaction():
        call("t_", [y], {})
        raise RuntimeError
    assert (y.shape, y.version, y.grad_fn.name()) == ((2, 3), 0, "MulBackward0")


def test_a_leaf_changes_its_form_in_no_grad() -> None:
    x = leaf()
    with no_grad():
        call("t_", [x], {})
    (g,) = grad([resolve("sum")(times(x, 2))], [x])
    assert g.shape == (3, 2)


def test_gradients_have_the_form_that_a_leaf_had_when_it_was_used_first() -> None:
    x = leaf()
    y = times(x, 2)
    with no_grad():
        call("t_", [x], {})
    (g,) = grad([resolve("sum")(y)], [x])
    assert g.shape == (2, 3)
    for failing in (y, times(x, 3)):  # which came in one form, and is to be kept in the other
        with pytest.raises(RuntimeError):
            backward([resolve("sum")(failing)])
        assert x.grad is None


def test_a_leaf_with_one_more_axis_takes_gradients_of_both_forms() -> None:
    x = Tensor.of(np.ones(3), requires_grad=True)
    y = times(x, 2)
    with no_grad():
        call("unsqueeze_", [x, 0], {})
    backward([resolve("sum")(y)])
    backward([resolve("sum")(times(x, 3))])
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [[5.0, 5.0, 5.0]]


def test_a_fork_has_a_form_of_its_own() -> None:
    y = times(leaf(), 1)
    row = resolve("select")(y, 0, 1)
    call("t_", [y], {})
    twins = fork({"y": y, "row": row})
    call("mul_", [twins["row"], 0], {})
    assert np.array_equal(twins["y"].numpy()[:, 1], [0, 0, 0])
    assert np.array_equal(y.numpy()[:, 1], [3, 4, 5])
