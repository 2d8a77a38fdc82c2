"""Every op of the catalogue, called as torch calls it: the engine's values, through both doors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.clients.test_errors import assert_agrees
from tests.engine.samples import samples_of
from tests.engine.trial import REFUSED, settled_in

import gradwire as torch
from gradwire.functions import function
from gradwire.session import Session
from gradwire_engine import backward as engine
from gradwire_engine import inplace
from gradwire_engine.catalogue import CATALOGUE, inplace_twin
from gradwire_engine.mode import using
from gradwire_engine.random import Generator
from gradwire_engine.reading import ones
from gradwire_engine.tensor import Tensor

SAMPLED = [n for n in sorted(CATALOGUE) if samples_of(n) and n != "tensor"]
"""All but torch.tensor, which takes no tensors."""
IN_PLACE = [n for n in SAMPLED if inplace_twin(n)]
"""Ops that are there in place only: copy_, __setitem__."""
NAMES = [n for n in SAMPLED if n not in IN_PLACE]
SEED = 7


@pytest.fixture(params=["embedded", "http"])
def shared(request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session for each op."""
    url = None if request.param == "embedded" else request.getfixturevalue("server_url")
    with torch.connect(url).session() as found:
        yield found


def _operands(name: str, call: Any, make: Any) -> tuple[Any, Any]:
    """A call's arguments as tensors, of which those require grad by which there is a derivative."""
    settled = settled_in(name, call)

    def made(array: Any) -> Any:
        smooth = array.dtype.kind in "fc" and not any(array is x for x in settled)
        return make(array, smooth)

    return _given(call[0], made), _given(call[1], made)


def _given(value: Any, make: Any) -> Any:
    """A sample's arguments with its arrays as tensors."""
    if isinstance(value, np.ndarray | np.floating):
        return make(np.asarray(value))
    if type(value) in (list, tuple):
        return type(value)(_given(v, make) for v in value)
    if type(value) is dict:
        return {k: _given(v, make) for k, v in value.items()}
    return value


def _here(array: np.ndarray, requires_grad: bool) -> Any:
    return torch.tensor(array, requires_grad=requires_grad)


def _in_the_engine(array: np.ndarray, requires_grad: bool) -> Tensor:
    return Tensor.of(array.copy(), requires_grad=requires_grad)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [part for item in value for part in _flat(item)]
    return [value]


@pytest.mark.parametrize("name", NAMES)
def test_gives_what_the_engine_gives(shared: Session, name: str) -> None:
    for sample in samples_of(name):
        args, kwargs = _operands(name, sample, _in_the_engine)
        with using(generator=Generator(SEED)), np.errstate(all="ignore"):
            expected = CATALOGUE[name](*args, **kwargs)
        torch.manual_seed(SEED)
        call = function(name)
        assert call is not None
        args, kwargs = _operands(name, sample, _here)
        actual = call(*args, **kwargs)
        if isinstance(actual, bool):
            actual = torch.tensor(actual)
        assert type(actual).__name__ == type(expected).__name__
        pairs = zip(_flat(expected), _flat(actual), strict=True)
        for e, a in pairs:
            if isinstance(e, Tensor):
                _same(e, a)
            else:
                assert a == e
        assert_agrees(shared, *[t for t in _flat(actual) if isinstance(t, torch.Tensor)])


@pytest.mark.parametrize("name", IN_PLACE)
def test_writes_what_the_engine_writes(shared: Session, name: str) -> None:
    call = function(name)
    assert call is not None
    for args, kwargs in samples_of(name):
        theirs = _given(args, lambda array: Tensor.of(array.copy()))
        with using(generator=Generator(SEED)), np.errstate(all="ignore"):
            inplace.call(name, theirs, kwargs)
        torch.manual_seed(SEED)
        ours = _given(args, torch.tensor)
        call(*ours, **kwargs)
        _same(theirs[0], ours[0])
        assert_agrees(shared, ours[0])


def _leaves(made: list[Any], make: Any) -> Any:
    def leaf(array: np.ndarray, requires_grad: bool) -> Any:
        made.append(make(array, requires_grad))
        return made[-1]

    return leaf


@pytest.mark.parametrize("name", [n for n in NAMES if n not in REFUSED])
def test_the_gradients_are_the_engines(shared: Session, name: str) -> None:
    call = function(name)
    assert call is not None
    for sample in samples_of(name):
        theirs: list[Tensor] = []
        args, kwargs = _operands(name, sample, _leaves(theirs, _in_the_engine))
        with using(generator=Generator(SEED)), np.errstate(all="ignore"):
            results = _flat(CATALOGUE[name](*args, **kwargs))
            roots = [y for y in results if isinstance(y, Tensor) and y.requires_grad]
            if not roots:
                continue
            engine.backward(roots, [ones(y.spec) for y in roots])
        torch.manual_seed(SEED)
        ours: list[Any] = []
        args, kwargs = _operands(name, sample, _leaves(ours, _here))
        results = _flat(call(*args, **kwargs))
        roots = [y for y in results if isinstance(y, torch.Tensor) and y.requires_grad]
        torch.autograd.backward(roots, [torch.ones_like(y) for y in roots])
        for e, a in zip(theirs, ours, strict=True):
            assert (a.grad is None) == (e.grad is None)
            if e.grad is not None:
                _same(e.grad, a.grad)
        assert_agrees(shared, *ours, *[a.grad for a in ours if a.grad is not None])


def _same(expected: Tensor, actual: Any) -> None:
    assert (actual.dtype, tuple(actual.shape)) == (expected.dtype, expected.shape)
    assert (actual.requires_grad, actual.is_leaf) == (expected.requires_grad, expected.is_leaf)
    found = actual.detach().numpy()
    assert found.tobytes() == np.ascontiguousarray(expected.numpy()).tobytes()
