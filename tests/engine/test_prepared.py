"""Every op by its prepared call gives what it gives by the long way: elements, history, layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.engine.calls import op
from tests.engine.samples import samples_of
from tests.engine.trial import Trial, host, on, tensors_in

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import inference_mode, local, no_grad, using
from gradwire_engine.random import Generator
from gradwire_engine.spec import float32, float64
from gradwire_engine.tape import Node, target
from gradwire_engine.tensor import Tensor

NAMES = sorted(filter(samples_of, CATALOGUE))


def _turned(x: Tensor) -> Any:
    """The same numbers, seen through a transposition of a copy: column by column."""
    if len(x.shape) < 2:
        return op("mul", x, 1.0)
    return op("transpose", op("contiguous", op("transpose", x, -1, -2)), -1, -2)


OPERANDS: dict[str, Callable[[Tensor], Any]] = {
    "leaves": lambda x: x,
    "results": lambda x: op("mul", x, 1.0),
    "columns": _turned,
    "constants": lambda x: x.detach(),
}


def _history(edge: Any, known: dict[int, int]) -> Any:
    """The graph behind an edge: its nodes' names, calls and labels; leaves as such."""
    node = target(edge)
    if type(node) is not Node:
        return type(node).__name__
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = len(known)
    label = node.extra.label if node.extra is not None else None
    edges = [None if e is None else _history(e, known) for e in node.edges]
    places = [getattr(e, "index", 0) for e in node.edges]
    return node.recipe.call.op.name, node.recipe.call.arguments, label, edges, places


def _about(made: list[Tensor], given: list[Tensor]) -> list[Any]:
    """All that can be told of results but for their elements."""
    return [
        (
            y.spec,
            y.array.strides if y.spec.size else None,
            y.requires_grad,
            None if y._edge is None else _history(y._edge, {}),
            y.flags,
            y.view is not None and (len(y.view.chain), y.view.creation, y.view.depth),
            next((i for i, x in enumerate(given) if x is y), None),
            next((i for i, x in enumerate(given) if x.storage is y.storage), None),
        )
        for y in made
    ]


def _do(trial: Trial, points: list[Any], kind: str, *, long: bool) -> Any:
    """What an op gives and its gradients; or the code of what it refuses."""
    leaves = trial.tensors(points)
    given = [OPERANDS[kind](x) for x in leaves]
    args, kwargs = trial.given(given)
    chosen = CATALOGUE[trial.name]
    try:
        with using(generator=Generator(0)):
            made = tensors_in(chosen.bound(args, kwargs) if long else chosen(*args, **kwargs))
    except GradwireError as problem:
        return problem.code, str(problem)
    about = _about(made, given)
    values = [host(y).copy() for y in made]
    rooted = [y for y in made if y.requires_grad]
    slopes: Any = []
    if rooted:
        cotangents = [on("cpu", np.ones_like(host(y))) for y in rooted]
        try:
            found = grad(rooted, leaves, cotangents, allow_unused=True)
            slopes = [None if g is None else host(g) for g in found]
        except GradwireError as problem:
            slopes = [np.array(problem.code)]
    return about, values, slopes


def _same(found: Any, wanted: Any, what: str) -> None:
    if type(wanted[0]) is str:
        assert found == wanted, what
        return
    assert found[0] == wanted[0], what
    for one, other in zip(found[1] + found[2], wanted[1] + wanted[2], strict=True):
        assert (one is None) == (other is None), what
        if one is not None:
            np.testing.assert_array_equal(one, other, what)


@pytest.mark.parametrize("kind", OPERANDS)
@pytest.mark.parametrize("name", NAMES)
def test_it_gives_the_same_as_the_long_way(name: str, kind: str) -> None:
    for number, call in enumerate(samples_of(name)):
        trial = Trial(name, call)
        for _ in range(3):  # a composite is taken apart the second time
            _do(trial, trial.points, kind, long=False)
        others = [p * 0.97 for p in trial.points]  # of the same kind, with other elements
        for points in (trial.points, others):
            wanted = _do(trial, points, kind, long=True)
            _same(_do(trial, points, kind, long=False), wanted, f"sample {number}")
        with no_grad():
            for _ in range(3):
                found = _do(trial, others, kind, long=False)
            _same(found, _do(trial, others, kind, long=True), f"sample {number} without grad")
        with inference_mode():
            found = _do(trial, others, kind, long=False)
            _same(found, _do(trial, others, kind, long=True), f"sample {number} for inference")


def test_which_operands_are_one_counts() -> None:
    """A call learnt from two tensors is that of one tensor twice, and the other way round."""
    loss = CATALOGUE["nn.functional.mse_loss"]
    random = np.random.default_rng(0)
    for _ in range(3):
        x, y = (on("cpu", random.normal(size=3), requires_grad=True) for _ in range(2))
        found = grad([loss(x, y)], [x, y])
        for g, sign in zip(found, (1, -1), strict=True):
            assert g is not None
            np.testing.assert_allclose(g.numpy(), sign * 2 * (x.numpy() - y.numpy()) / 3)
        assert loss(x, x).numpy() == 0.0
        (same,) = grad([loss(x, x)], [x])
        assert same is not None
        assert same.numpy().tolist() == [0.0] * 3


def test_kinds_of_attributes_are_told_apart() -> None:
    x = on("cpu", np.arange(6.0).reshape(2, 3))
    for _ in range(3):
        assert op("sum", x, 0).shape == (3,)
        assert op("sum", x, 0, keepdim=True).shape == (1, 3)
        with pytest.raises(TypeError):
            op("sum", x, 0, keepdim=1)
        assert op("__getitem__", x, 1).shape == (3,)
        assert op("__getitem__", x, True).shape == (1, 2, 3)
        assert op("__getitem__", x, slice(1, None)).shape == (1, 3)
        assert op("mul", x, 2).dtype is float64
        assert op("mul", op("to", x, "int64"), 2.0).dtype.name == "float32"
        assert op("mul", op("to", x, "int64"), 2).dtype.name == "int64"
        local.state.set_default_dtype(float64)
        try:
            assert op("mul", op("to", x, "int64"), 2.0).dtype is float64
        finally:
            local.state.set_default_dtype(float32)
        zero = on("cpu", np.array([-0.0]))
        for sign in (0.0, -0.0):
            assert np.signbit(op("mul", op("add", zero, sign), 1.0).numpy()[0]) == np.signbit(sign)


def test_what_fails_is_told_each_time() -> None:
    x, k = on("cpu", np.ones((2, 3))), on("cpu", np.array([0, 1]))
    for _ in range(3):
        op("nn.functional.cross_entropy", x, k)
        with pytest.raises(GradwireError) as caught:
            op("nn.functional.cross_entropy", x, on("cpu", np.array([0, 7])))
        assert caught.value.code in ("invalid_argument", "index_out_of_range")
        with pytest.raises(GradwireError) as caught:
            op("mul", x, on("cpu", np.ones(4)))
        assert caught.value.code == "shape_mismatch"


def test_views_by_stride_are_seen_where_they_lie() -> None:
    view, scatter, many = op("arange", 12.0), op("arange", 12.0), 4
    for start in (0, 1, 2, 1):
        for _ in range(many):
            seen, kept = (op("narrow", x, 0, start, 9) for x in (view, scatter))
            found = op("as_strided", seen, (2,), (1,), 3)
            assert found.numpy().tolist() == [3.0, 4.0]
            found = op("as_strided_scatter", kept, op("zeros", (1,)), (1,), (1,), 3)
            wanted = [0.0 if n == 3 else float(n) for n in range(start, start + 9)]
            assert found.numpy().tolist() == wanted
