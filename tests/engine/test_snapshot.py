"""Snapshots in the engine: every kind of cell, every op, every layout."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import inf, isnan, nan
from typing import Any

import numpy as np
import pytest
from tests.engine.calls import leaf, numbers, op, write
from tests.engine.programs import Log, Python
from tests.engine.samples import samples_of
from tests.engine.snapshots import again, written
from tests.engine.trial import REFUSED, settled_in

from gradwire_engine import fork
from gradwire_engine.backward import backward, grad
from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.checkpoint import checkpoint
from gradwire_engine.errors import GradwireError
from gradwire_engine.function import Made, apply
from gradwire_engine.function_rule import Function
from gradwire_engine.hooks import register_hook
from gradwire_engine.mode import no_grad
from gradwire_engine.op import PRIMITIVES
from gradwire_engine.promote import weak_kinds
from gradwire_engine.snapshot.kinds import BY_TYPE
from gradwire_engine.snapshot.values import read_value, write_value
from gradwire_engine.spec import DTYPES, float64
from gradwire_engine.tape import Bound, Handle
from gradwire_engine.tensor import Tensor

SAMPLES = 4
"""Of each op; all of them take a minute."""


def one_of_everything() -> tuple[Tensor, ...]:
    """Tensors behind which every kind of cell stands."""
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = op("mul", x, w)
    register_hook(y, Bound(Python(lambda g, k: g * k, "scaled"), (w,)))
    y.retain_grad()
    (z,) = checkpoint(Python(lambda v: op("exp", v), "inner"), (op("slice", y, 0, 0, 2),))
    first = op("unbind", z)[0]
    once = Function("Once", Python(lambda a, g: g * a, "back"), once_differentiable=True)
    (cubed,) = apply(lambda a: Made(once, [op("mul", a, a)], [a]), [op("add", first, 1.0)])
    (delayed,) = grad([op("mul", cubed, cubed)], [x], create_graph=True)
    return x, w, y, z, cubed, delayed


def test_every_kind_of_cell_that_a_fork_copies_is_written() -> None:
    kinds = set(fork._FILL) - {Handle}
    assert kinds <= set(BY_TYPE)
    _, data, _ = written(*one_of_everything())
    assert {row[0] for row in data["cells"]} == {kind.name for kind in BY_TYPE.values()} | {
        "program"
    }
    for tensor in again(*one_of_everything()):
        assert numbers(tensor) is not None


def test_a_walk_over_everything_gives_the_same() -> None:
    here = one_of_everything()
    there = again(*here)
    backward([op("sum", here[4])], retain_graph=True)
    backward([op("sum", there[4])], retain_graph=True)
    for mine, other in zip(here, there, strict=True):
        assert numbers(mine.grad) == numbers(other.grad)
    with pytest.raises(GradwireError, match="once_differentiable"):
        backward([op("sum", there[5])])


def _tensors(value: Any, made: list[Tensor], settled: Sequence[Any] = ()) -> Any:
    """Arrays as leaves, which are noted."""
    if isinstance(value, np.ndarray):
        made.append(Tensor.of(value.copy()))
        if made[-1].dtype.differentiable and not any(value is x for x in settled):
            made[-1].requires_grad_()
        return made[-1]
    if isinstance(value, list | tuple):
        return type(value)(_tensors(item, made, settled) for item in value)
    return value


def _results(name: str) -> Iterator[tuple[list[Tensor], list[Tensor]]]:
    """For each sample of an op: its leaves, and results that require grad with their slopes."""
    for args, kwargs in samples_of(name)[:SAMPLES]:
        made: list[Tensor] = []
        settled = settled_in(name, (args, kwargs))
        named = {k: _tensors(v, made, settled) for k, v in kwargs.items()}
        given = op(name, *_tensors(args, made, settled), **named)
        several = given if isinstance(given, list | tuple) else [given]
        results = [r for r in several if isinstance(r, Tensor) and r.requires_grad]
        leaves = [x for x in made if x.requires_grad]
        slopes = [g for r in results for g in _slopes(r, leaves)]
        yield leaves, [*results, *slopes]


def _slopes(result: Tensor, leaves: Sequence[Tensor]) -> list[Tensor]:
    found = grad([result], leaves, [op("ones_like", result)], create_graph=True, allow_unused=True)
    return [g for g in found if g is not None and g.requires_grad]


@pytest.mark.parametrize("name", sorted(CATALOGUE.keys() - REFUSED))
def test_nodes_of_every_op_come_back(name: str) -> None:
    """Also those of its derivative, which is made of ops that the catalogue lacks."""
    for leaves, results in _results(name):
        made = again(*leaves, *results)
        for place, result in enumerate(results):
            there = _slopes(made[len(leaves) + place], made[: len(leaves)])
            here = _slopes(result, leaves)
            assert [numbers(g) for g in there] == [numbers(g) for g in here] or _has_nan(here)


def _has_nan(tensors: Sequence[Tensor]) -> bool:
    return any(bool(np.isnan(t.numpy().astype(complex)).any()) for t in tensors)


def test_an_op_is_known_by_name_and_signature() -> None:
    for name, ops in PRIMITIVES.items():
        signatures = [str(found.signature) for found in ops]
        assert len(set(signatures)) == len(signatures), name


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, -(2**70), 0.1, -0.0, inf, -inf, "words", 1 + 2j, complex(inf, -0.0), float64,
        (1, (2.0, ("a", None))), slice(None, -1, 2), Ellipsis, (),
        *weak_kinds(DTYPES["float16"]).values(),
    ],
)  # fmt: skip
def test_a_value_comes_back(value: Any) -> None:
    def refer(*what: Any) -> Any:
        raise AssertionError(what)

    found = read_value(json.loads(json.dumps(write_value(value, refer))), refer)
    assert (found, type(found), repr(found)) == (value, type(value), repr(value)) or (
        (found.kind, found.dtype) == (value.kind, value.dtype)
    )


def test_nan_comes_back() -> None:
    assert isnan(read_value(write_value(nan, str), lambda *_: None))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (2, 1, 3), (2, 3, 4)])
def test_elements_and_their_order_in_memory_come_back(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape)).reshape(shape).astype(DTYPES[dtype].numpy)
    turned = array.copy().transpose(tuple(reversed(range(array.ndim))))
    rolled = np.moveaxis(array.copy(), 0, -1) if array.ndim else array.copy()
    for given in (array, turned, rolled):
        (found,) = again(Tensor.of(given))
        assert found.array.dtype == given.dtype
        assert np.array_equal(found.array, given)
        assert found.array.flags.c_contiguous == given.flags.c_contiguous
        assert [s for n, s in zip(given.shape, found.array.strides, strict=True) if n > 1] == [
            s for n, s in zip(given.shape, given.strides, strict=True) if n > 1
        ]


def test_a_tensor_without_elements_comes_back() -> None:
    (found,) = again(Tensor.of(np.zeros((2, 3)), device="meta"))
    assert found.shape == (2, 3)
    assert found.device == "meta"


def test_each_array_is_written_once() -> None:
    x = leaf([1.0, 2.0, 3.0])
    _, data, arrays = written(x, op("slice", x, 0, 0, 2), x.detach())
    assert len(arrays) == len(data["arrays"]) == 1


def test_a_long_chain_is_no_recursion() -> None:
    x = leaf([1.0])
    y = x
    for _ in range(20_000):
        y = op("sin", y)
    made = again(x, y)
    backward([op("sum", made[1])])
    assert made[0].grad is not None


def test_versions_and_lost_tensors_are_told_as_before() -> None:
    x = leaf([1.0, 2.0])
    y = op("mul", x, 2)
    e = op("exp", y)
    write("add_", e, 1)
    _, there = again(x, e)
    with pytest.raises(GradwireError, match="version 1, expected version 0"):
        backward([op("sum", there)])
    gone = op("sum", op("exp", leaf([1.0])))
    (there,) = again(gone)
    backward([there])


def test_views_of_no_grad_stay_restricted() -> None:
    x = leaf([1.0, 2.0])
    y = op("mul", x, 2)
    with no_grad():
        view = op("slice", y, 0, 0, 1)
    *_, there = again(x, y, view)
    with pytest.raises(GradwireError, match="was made in no_grad mode"):
        write("mul_", there, 2)


def test_hooks_after_another_form_hang_where_the_first_did() -> None:
    """A new one is not heard at the tensor itself, as it is not before."""
    x = leaf([1.0, 2.0])
    y = op("mul", x, 1.0)
    register_hook(y, Python(lambda g: g * 3.0, "first"))
    write("unsqueeze_", y, 0)
    for x2, y2 in ((x, y), again(x, y)):
        register_hook(y2, Python(lambda g: g * 5.0, "second"))
        found = grad([op("sum", y2)], [y2, x2])
        assert [g.numpy().ravel().tolist() for g in found] == [[1.0, 1.0], [15.0, 15.0]]


def test_frozen_and_detached_leaves_keep_their_hooks() -> None:
    x, log = leaf([1.0, 2.0]), Log()
    register_hook(x, log.note("frozen"))
    y = op("mul", x, 2.0)
    register_hook(y, log.note("detached"))
    older = op("sum", y)
    x.requires_grad_(False)
    write("detach_", y)
    x, y, older = again(x, y, older)
    for tensor in (x, y):
        tensor.requires_grad_()
    backward([older])
    backward([op("sum", y)])
    assert [name for name, _ in log] == ["detached", "frozen", "detached"]
    assert numbers(x.grad) == [2, 2]
