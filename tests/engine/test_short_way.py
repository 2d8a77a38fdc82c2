"""The second use of a call goes a shorter way: it has to do and to refuse what the first did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.engine.calls import op, write

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import inference_mode, local, no_grad, using
from gradwire_engine.tensor import Tensor

COUNTS: dict[str, int] = {
    "exp": 1, "neg": 1, "abs": 1, "tanh": 1, "sum": 1,
    "mul": 2, "add": 2, "sub": 2, "div": 2, "pow": 2, "matmul": 2, "maximum": 2,
}  # fmt: skip
"""Ops with the number of operands that they take on their short way."""


def primitive(name: str) -> Any:
    """The first overload of an op: what `Op` binds to, and modules of ops call."""
    return resolve(name).overloads[0]


def leaf(*shape: int, seed: int = 0) -> Tensor:
    random = np.random.default_rng(seed)
    return Tensor.of(random.uniform(0.5, 2, shape).astype(np.float32), requires_grad=True)


def both_ways(name: str, *operands: Any) -> tuple[Tensor, Tensor]:
    """The op's result by the long way, and by the short way after it was learnt."""
    chosen = primitive(name)
    chosen(*operands)
    return chosen.dispatch(operands, {}), chosen(*operands)


def transposed(x: Tensor) -> Any:
    return op("transpose", x, 0, 1)


OPERANDS: dict[str, Callable[[Tensor], Any]] = {
    "a leaf": lambda x: x,
    "a result": lambda x: op("mul", x, 2.0),
    "a view": transposed,
    "a view of a result": lambda x: transposed(op("mul", x, 2.0)),
    "a constant": lambda x: x.detach(),
    "what retains its gradient": lambda x: op("mul", x, 2.0).retain_grad(),
}


@pytest.mark.parametrize("second", OPERANDS)
@pytest.mark.parametrize("first", OPERANDS)
@pytest.mark.parametrize("name", [name for name, count in COUNTS.items() if count == 2])
def test_two_operands_give_the_same(name: str, first: str, second: str) -> None:
    a, b = leaf(3, 3), leaf(3, 3, seed=1)
    x, y = OPERANDS[first](a), OPERANDS[second](b)
    same_results(*both_ways(name, x, y), [a, b])


@pytest.mark.parametrize("first", OPERANDS)
@pytest.mark.parametrize("name", [name for name, count in COUNTS.items() if count == 1])
def test_one_operand_gives_the_same(name: str, first: str) -> None:
    a = leaf(3, 3)
    same_results(*both_ways(name, OPERANDS[first](a)), [a])


def same_results(long: Tensor, short: Tensor, leaves: list[Tensor]) -> None:
    assert short.spec == long.spec
    np.testing.assert_array_equal(short.numpy(), long.numpy())
    assert short.requires_grad == long.requires_grad
    if not long.requires_grad:
        return
    assert short.grad_fn is not None and long.grad_fn is not None
    assert short.grad_fn.name() == long.grad_fn.name()
    g = Tensor.of(np.full(long.shape, 0.5, np.float32))
    for x, y in zip(
        grad([short], leaves, [g], retain_graph=True, allow_unused=True),
        grad([long], leaves, [g], retain_graph=True, allow_unused=True),
        strict=True,
    ):
        assert (x is None) == (y is None)
        if x is not None and y is not None:
            np.testing.assert_array_equal(x.numpy(), y.numpy())


@pytest.mark.parametrize("name", ["exp", "sigmoid", "tanh"])
def test_a_saved_result_that_was_written_is_refused(name: str) -> None:
    x = leaf(2, 2)
    for made in both_ways(name, x):
        write("mul_", made, 2.0)
        with pytest.raises(GradwireError) as problem:
            grad([op("sum", made)], [x])
        assert problem.value.code == "modified_in_place"


@pytest.mark.parametrize("name", ["mul", "matmul"])
def test_a_saved_view_whose_base_was_written_is_refused(name: str) -> None:
    x = leaf(2, 2)
    base = op("mul", x, 1.0)
    made = both_ways(name, transposed(base), x)[1]
    write("mul_", base, 2.0)
    with pytest.raises(GradwireError) as problem:
        grad([op("sum", made)], [x])
    assert problem.value.code == "modified_in_place"


def test_a_view_of_a_written_base_has_the_new_history() -> None:
    x, base = leaf(2, 2), op("mul", leaf(2, 2), 1.0)
    view = transposed(base)
    both_ways("mul", view, 3.0)
    write("mul_", base, x)
    found = grad([op("sum", primitive("mul")(view, 3.0))], [x])[0]
    assert found is not None
    np.testing.assert_allclose(found.numpy(), 3 * leaf(2, 2).numpy(), rtol=1e-6)


def test_modes_hold_on_the_short_way() -> None:
    x = leaf(2, 2)
    both_ways("exp", x)
    with no_grad():
        assert not primitive("exp")(x).requires_grad
    with inference_mode():
        made = primitive("exp")(x)
        assert made.is_inference
    both_ways("mul", x, x)
    with pytest.raises(GradwireError) as problem:
        primitive("mul")(x, made)
    assert problem.value.code == "inference_tensor"


class Counter:
    """A meter that adds up."""

    def __init__(self) -> None:
        self.bytes = 0

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
        self.bytes += nbytes


def test_the_meter_is_asked_once_a_call() -> None:
    x = leaf(4, 4)
    both_ways("matmul", x, x)
    local.state.meter = counter = Counter()
    try:
        primitive("matmul")(x, x)
    finally:
        local.state.meter = None
    assert counter.bytes == 64


def test_what_a_library_refuses_is_explained_each_time() -> None:
    singular = Tensor.of(np.zeros((2, 2), np.float32))
    regular = leaf(2, 2)
    for _ in range(3):
        op("linalg.inv", regular)
        with pytest.raises(GradwireError) as problem:
            op("linalg.inv", singular)
        assert problem.value.code == "numerical_error"


def test_whole_numbers_take_no_short_way() -> None:
    whole = Tensor.of(np.array([[3, 1], [2, 2]]))
    for _ in range(2):
        assert primitive("sum")(whole).dtype.name == "int64"
        assert primitive("exp")(whole).dtype.name == "float32"


@pytest.mark.parametrize("name", COUNTS)
def test_these_ops_have_one(name: str) -> None:
    short = primitive(name).short
    assert short is not None and short[0] == COUNTS[name]


@pytest.mark.parametrize("operands", [1, 2])
def test_inference_tensors_are_made_with_one_run(operands: int) -> None:
    name = {1: "exp", 2: "mul"}[operands]
    xs = [leaf(3, 3, seed=i) for i in range(operands)]
    primitive(name)(*xs)
    charged: list[int] = []

    class Counting:
        def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
            charged.append(nbytes)

    with inference_mode(), using(meter=Counting()):
        made = primitive(name)(*xs)
    assert made.is_inference
    assert not made.requires_grad
    assert charged == [made.spec.nbytes]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_sign_of_a_zero_in_an_attribute_counts(sign: float) -> None:
    x, y = Tensor.of(np.array([complex(-0.0, 0.0)])), Tensor.of(np.array([1.0 + 0j]))
    found = op("addcmul", x, y, y, value=complex(sign * 0.0, 0.0)).numpy()
    assert np.signbit(found.real) == (sign < 0)
    f = Tensor.of(np.array([-0.0]))
    found = op("add", f, Tensor.of(np.array([1.0])), alpha=sign * 0.0).numpy()
    assert np.signbit(found) == (sign < 0)


MIDDLE: dict[str, tuple[int, tuple[Any, ...]]] = {
    "nn.functional.linear": (3, ()),
    "addcmul": (3, (2,)),
    "lerp": (3, ()),
    "softmax": (1, (-1,)),
    "log_softmax": (1, (0,)),
    "sub": (2, (0.5,)),
    "cumsum": (1, (1,)),
}
"""Ops of the middle way: how many operands, and the attributes after them."""


@pytest.mark.parametrize("kind", OPERANDS)
@pytest.mark.parametrize("name", MIDDLE)
def test_the_middle_way_gives_the_same(name: str, kind: str) -> None:
    count, rest = MIDDLE[name]
    chosen = resolve(name).overloads[-1]
    values = chosen.signature.complete
    leaves = [leaf(3, 3, seed=i) for i in range(count)]
    for place in range(count):  # each operand in turn is of the kind, the others are leaves
        operands = [OPERANDS[kind](x) if i == place else x for i, x in enumerate(leaves)]
        attributes = {
            p.name: v for p, v in zip(chosen.signature.parameters[count:], rest, strict=False)
        }
        args = values(tuple(operands), attributes)
        chosen.middle(args)
        same_results(chosen.dispatch(args, {}), chosen.middle(args), leaves)


@pytest.mark.parametrize("kind", OPERANDS)
def test_the_middle_way_gives_the_same_several(kind: str) -> None:
    sort, start = primitive("sort"), leaf(3, 3)
    operand = OPERANDS[kind](start)
    args = sort.signature.complete((operand, 1), {})
    assert sort.middle is not None
    sort.middle(args)
    long, short = sort.dispatch(args, {}), sort.middle(args)
    assert type(short) is type(long)
    same_results(long.values, short.values, [start])
    same_results(long.indices, short.indices, [start])
    if short.values.requires_grad:
        write("mul_", short.indices, 2)
        with pytest.raises(GradwireError) as problem:
            grad([op("sum", short.values)], [start])
        assert problem.value.code == "modified_in_place"


def test_the_middle_way_looks_at_modes_writes_and_the_signs_of_zeros() -> None:
    linear, softmax = primitive("nn.functional.linear"), primitive("softmax")
    x, w, b = leaf(3, 3), leaf(3, 3, seed=1), leaf(3, seed=2)
    linear(x, w, b)
    with no_grad():
        assert not linear(x, w, b).requires_grad
    with inference_mode():
        made = linear(x, w, b)
        assert made.is_inference
    with pytest.raises(GradwireError) as problem:
        linear(made, w, b)
    assert problem.value.code == "inference_tensor"
    for _ in range(2):
        written = softmax(x, 1)
        write("mul_", written, 2.0)
        with pytest.raises(GradwireError) as problem:
            grad([op("sum", written)], [x])
        assert problem.value.code == "modified_in_place"
    with pytest.raises(GradwireError) as problem:
        linear(x, leaf(2, 2), b)
    assert problem.value.code == "shape_mismatch"
    for sign in (0.0, -0.0, 0.0):
        found = primitive("sub")(
            Tensor.of(np.array([-0.0])), Tensor.of(np.array([1.0])), alpha=sign
        )
        assert np.signbit(found.numpy()) == [np.signbit(-0.0 - sign)]
    assert primitive("sum")(leaf(2, 2), None, True).shape == (1, 1)
    assert primitive("sum")(leaf(2, 2), None, False).shape == ()
