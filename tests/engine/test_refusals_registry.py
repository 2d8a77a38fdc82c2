"""What every op says of bad arguments: its name, what came in, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.engine.batches import visit
from tests.engine.samples import Call, samples_of
from tests.engine.trial import cast, on

from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import no_grad
from gradwire_engine.op import Primitive
from gradwire_engine.signature import Parameter
from gradwire_engine.spec import DTYPES, DType

every_op = pytest.mark.parametrize("name", sorted(CATALOGUE))
CODES = {
    "invalid_argument", "shape_mismatch", "dtype_mismatch", "data_dependent_shape",
    "numerical_error", "not_scalar", "limit_exceeded",
    "unsupported_device",
}  # fmt: skip
"""Codes that say what is wrong with an argument."""

WRONG = {
    "int": "word", "dim": "word", "ints": "word", "dims": "word", "float": "word",
    "number": "word", "bool": "word", "str": 17, "dtype": "float99", "device": 17,
    "tensor": "word", "tensors": "word",
}  # fmt: skip
"""For each kind of parameter a value of another kind."""


SIZES = re.compile(r"\d|\[\]|\(\)|no ax[ei]s|no index|without axes|scalar")
"""A number that came in, or that a tensor has no axes."""


def last(name: str) -> str:
    """The part of an op's name that its errors have to say."""
    return name.rpartition(".")[2]


def tensors(call: Call, dtype: DType | None = None) -> tuple[Any, Any]:
    """The call on tensors, cast if asked."""
    args, kwargs = visit(call, lambda a: on("cpu", a if dtype is None else cast(a, dtype)))
    return args, kwargs


def said(name: str, args: Any, kwargs: Any) -> GradwireError | None:
    """The error that an op raises for these arguments; None where it takes them."""
    with no_grad(), np.errstate(all="ignore"):
        try:
            CATALOGUE[name](*args, **kwargs)
        except GradwireError as problem:
            return problem
    return None


def names_it(name: str, problem: GradwireError, *came_in: str) -> None:
    """The error says which op, with what, and how to mend it."""
    assert problem.code in CODES, problem.code
    assert last(name).strip("_") in problem.detail, problem.detail
    for word in came_in:
        assert word in problem.detail, (word, problem.detail)
    assert problem.hint, problem.detail


def attributes(name: str) -> Iterator[tuple[Call, int, Parameter]]:
    """For each parameter that a sample reaches: the sample with its place among the arguments."""
    for call in samples_of(name):
        overload, _ = CATALOGUE[name].bind(*tensors(call))
        for place, parameter in enumerate(overload.signature.parameters):
            yield call, place, parameter
        if len(CATALOGUE[name].overloads) == 1:
            return


def changed(call: tuple[Any, Any], place: int, parameter: Parameter, value: Any) -> tuple[Any, Any]:
    """The call with another value of one parameter."""
    args, kwargs = list(call[0]), dict(call[1])
    if place < len(args) and parameter.name not in kwargs:
        args[place] = value
    else:
        kwargs[parameter.name] = value
    return tuple(args), kwargs


@every_op
def test_a_missing_operand_is_named(name: str) -> None:
    problem = said(name, (), {})
    overloads = CATALOGUE[name].overloads
    if problem is None:
        return
    wanted = [o.signature.parameters[0].name for o in overloads if o.signature.parameters]
    names_it(name, problem)
    assert any(f"{word!r}" in problem.detail for word in wanted), problem.detail


@every_op
def test_an_unknown_keyword_is_named(name: str) -> None:
    args, kwargs = tensors(samples_of(name)[0])
    problem = said(name, args, {**kwargs, "nonsense": 1})
    assert problem is not None
    names_it(name, problem, "'nonsense'")
    assert all(p.name in str(problem.hint) for p in CATALOGUE[name].signatures[0].parameters)


@every_op
def test_a_value_of_another_kind_is_shown(name: str) -> None:
    for call, place, parameter in attributes(name):
        wrong = WRONG.get(parameter.kind)
        if wrong is None or (parameter.kind == "tensors" and len(call[0]) > 1):
            continue  # tensors in a row: the first one is not the list
        problem = said(name, *changed(tensors(call), place, parameter, wrong))
        if problem is None and len(CATALOGUE[name].overloads) > 1:
            continue  # as conv2d's padding, which is a word or a number
        assert problem is not None, parameter
        names_it(name, problem, str(wrong))


@every_op
def test_an_axis_that_is_not_there_is_shown(name: str) -> None:
    for call, place, parameter in attributes(name):
        if parameter.kind in ("dim", "dims"):
            problem = said(name, *changed(tensors(call), place, parameter, 99))
            assert problem is not None, parameter
            names_it(name, problem, "99")


@every_op
def test_shapes_that_do_not_fit_are_shown(name: str) -> None:
    for overload in CATALOGUE[name].overloads:
        if not isinstance(overload, Primitive) or overload.family != "elementwise":
            continue
        operands = [p for p in overload.signature.parameters if p.kind == "tensor"]
        shapes = [(2, 3), (4, 5), (2, 3)][: len(operands)]
        if len(operands) < 2 or len(CATALOGUE[name].overloads) > 1:
            continue
        dtype = "int64" if name.startswith("bitwise") or "shift" in name else "float64"
        args = [on("cpu", np.ones(shape, dtype)) for shape in shapes]
        if operands[0].name in ("condition",):
            args[0] = on("cpu", np.ones(shapes[0], bool))
        problem = said(name, args, {})
        assert problem is not None
        if problem.code != "dtype_mismatch":
            names_it(name, problem, "(2, 3)", "(4, 5)")


@every_op
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "complex128"])
def test_a_dtype_that_an_op_does_not_take_is_shown(name: str, dtype: str) -> None:
    for call in samples_of(name):
        problem = said(name, *tensors(call, DTYPES[dtype]))
        if problem is not None and problem.code != "numerical_error":
            names_it(name, problem)


@every_op
@pytest.mark.parametrize("rank", [0, 1, 5])
def test_a_shape_that_an_op_does_not_take_is_shown(name: str, rank: int) -> None:
    """All operands at once, then one after the other."""
    for call in samples_of(name):
        held: list[Any] = []
        visit(call, held.append)
        for place in range(-1, len(held)):
            problem = said(name, *_reshaped(call, rank, place))
            if problem is not None and problem.code != "numerical_error":
                names_it(name, problem)
                assert SIZES.search(problem.detail), problem.detail


def _reshaped(call: Call, rank: int, place: int) -> tuple[Any, Any]:
    """The call with one operand, or all for -1, made into one of this rank with size 3 axes."""
    seen = iter(range(100))

    def change(array: Any) -> Any:
        here = place in (-1, next(seen))
        return on("cpu", np.ones((3,) * rank, array.dtype) if here else array)

    args, kwargs = visit(call, change)
    return args, kwargs
