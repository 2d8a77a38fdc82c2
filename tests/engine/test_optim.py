"""Optimisers of the engine beside their numbers, which tests/parity holds against torch."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.fork import fork_all
from gradwire_engine.journal import transaction
from gradwire_engine.optim import KINDS, Optimizer
from gradwire_engine.tensor import Tensor

STEPPED = [kind for kind in KINDS if KINDS[kind].update is not None]


def leaf(values: list[float], device: str = "cpu", dtype: str = "float64") -> Tensor:
    made = Tensor.of(np.array(values, dtype), True, device=device)
    made.set_grad(Tensor.of(np.ones(len(values), dtype), device=device))
    return made


@pytest.mark.parametrize("kind", STEPPED)
def test_an_undone_step_leaves_parameter_and_state(kind: str) -> None:
    x = leaf([1.0, 2.0])
    optimizer = Optimizer(kind, [([x], {})])
    optimizer.step()
    before, version = x.numpy(), x.version
    kept = [dict(state) for state in optimizer.states]
    with pytest.raises(KeyError), transaction():
        optimizer.step()
        assert (x.numpy() != before).all()
        raise KeyError
    assert (x.numpy() == before).all()
    assert x.version == version
    for old, new in zip(kept, optimizer.states, strict=True):
        assert all(old[name] is new[name] for name in old)


@pytest.mark.parametrize("kind", STEPPED)
def test_a_fork_goes_its_own_way(kind: str) -> None:
    x = leaf([1.0, 2.0])
    optimizer = Optimizer(kind, [([x], {})])
    optimizer.step()
    (copies,) = fork_all({"x": x})
    fork = optimizer.forked(lambda _: copies["x"])
    fork.step()
    assert (copies["x"].numpy() != x.numpy()).all()
    optimizer.step()
    assert (copies["x"].numpy() == x.numpy()).all()


@pytest.mark.parametrize("kind", STEPPED)
def test_a_mirror_counts_writes(kind: str) -> None:
    x = leaf([1.0, 2.0], "meta")
    Optimizer(kind, [([x], {})]).step()
    assert x.version == 1
    assert x.is_leaf
    assert x.requires_grad


@pytest.mark.parametrize("kind", STEPPED)
def test_a_view_that_is_a_parameter_writes_its_base(kind: str) -> None:
    base = Tensor.of(np.arange(4.0))
    x = resolve("select")(resolve("view")(base, (2, 2)), 0, 1)
    x.requires_grad_()
    x.set_grad(Tensor.of(np.ones(2)))
    Optimizer(kind, [([x], {"lr": 0.5})]).step()
    assert (base.numpy()[:2] == [0.0, 1.0]).all()
    assert (base.numpy()[2:] < [2.0, 3.0]).all()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_narrow_parameter_keeps_its_dtype(dtype: str) -> None:
    x = leaf([1.0, 2.0], dtype=dtype)
    Optimizer("adam", [([x], {"lr": 0.5})]).step()
    assert x.numpy().dtype == dtype
    assert x.numpy() == pytest.approx([0.5, 1.5], rel=1e-3)


def test_a_parameter_without_a_gradient_is_left_alone() -> None:
    x = Tensor.of(np.ones(2), True)
    optimizer = Optimizer("sgd", [([x], {})])
    optimizer.step()
    assert x.version == 0
    assert optimizer.states == ({},)


def test_state_of_another_shape_is_refused() -> None:
    optimizer = Optimizer("sgd", [([leaf([1.0, 2.0])], {"momentum": 0.5})])
    with pytest.raises(GradwireError) as problem:
        optimizer.load([{"momentum_buffer": Tensor.of(np.ones(3))}])
    assert problem.value.code == "shape_mismatch"
    optimizer.load([{"momentum_buffer": Tensor.of(np.ones(2))}])
    optimizer.step()
    assert optimizer.states[0]["momentum_buffer"] == pytest.approx([1.5, 1.5])


def test_lbfgs_without_a_closure_is_refused() -> None:
    with pytest.raises(TypeError):
        Optimizer("lbfgs", [([leaf([1.0])], {})]).step()


def test_the_curvature_of_some_parameters_is_not_that_of_others() -> None:
    a, b = leaf([1.0, 2.0]), leaf([3.0])
    old = Optimizer("lbfgs", [([a, b], {})])
    old.states = ({"n_iter": 1}, {})
    assert old.continued([([a, b], {"lr": -0.5})]).states == old.states
    for params in ([a], [b, a], [a, leaf([4.0])]):
        assert not any(old.continued([(params, {})]).states)


@pytest.mark.parametrize(
    ("kind", "bad"), [("adam", {"betas": (1.0, 0.9)}), ("adagrad", {"lr_decay": -1.0})]
)
def test_of_what_is_changed_only_the_rate_has_no_range(kind: str, bad: dict[str, object]) -> None:
    optimizer = Optimizer(kind, [([leaf([1.0])], {})])
    optimizer.set([{"lr": -0.1}])
    with pytest.raises(ValueError, match="Invalid"):
        optimizer.set([bad])
    optimizer.step()
    assert optimizer.groups[0].settings["lr"] == -0.1
