"""`out=`: results written into tensors that are there, as torch's functions do."""

from __future__ import annotations

import pytest

import gradwire as torch


@pytest.fixture(autouse=True)
def where(door: str | None) -> None:
    torch.connect(door)


def test_a_result_is_written_into_a_tensor_that_is_given_back() -> None:
    target = torch.zeros(2, dtype=torch.float64)
    assert torch.add(torch.ones(2), torch.ones(2), alpha=2, out=target) is target
    assert target.tolist() == [3.0, 3.0]
    assert target.dtype is torch.float64
    assert target._version == 1


def test_an_operand_may_be_written() -> None:
    x = torch.tensor([4.0, 9.0])
    torch.sqrt(x, out=x)
    assert x.tolist() == [2.0, 3.0]


def test_several_results_go_into_several_tensors() -> None:
    values, places = torch.zeros(2), torch.zeros(2, dtype=torch.int64)
    found = torch.max(torch.tensor([[1.0, 2.0], [4.0, 3.0]]), 1, out=(values, places))
    assert found.values is values
    assert found.indices is places
    assert (values.tolist(), places.tolist()) == ([2.0, 4.0], [1, 0])
    with pytest.raises(TypeError, match="has 2 results, out has 1 tensors"):
        torch.max(torch.ones(2, 2), 1, out=values)


def test_what_is_made_has_the_dtype_of_out() -> None:
    places = torch.zeros(3, dtype=torch.float64)
    assert torch.arange(3, out=places).tolist() == [0.0, 1.0, 2.0]


def test_nothing_is_recorded_so_operands_may_not_require_grad() -> None:
    x, target = torch.ones(2, requires_grad=True), torch.zeros(2)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.exp(x, out=target)
    assert target.tolist() == [0.0, 0.0]
    with torch.no_grad():
        torch.add(x, 1, out=target)
    assert target.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("size", "dtype", "said"),
    [
        (2, torch.int64, "can't be cast to the desired output type int64"),
        (3, torch.float32, r"out is \[3\], the result is \[2\]"),
    ],
)
def test_what_does_not_fit_is_refused_and_not_written(
    size: int, dtype: torch.dtype, said: str
) -> None:
    target = torch.zeros(size, dtype=dtype)
    with pytest.raises(RuntimeError, match=said):
        torch.add(torch.ones(2), 1.5, out=target)
    assert target.sum().item() == 0
    assert target._version == 0


def test_out_is_a_tensor() -> None:
    with pytest.raises(TypeError, match="argument 'out' must be Tensor, not int"):
        torch.add(torch.ones(2), 1, out=3)
    with pytest.raises(TypeError, match="out is not available"):
        torch.ones(2).add(1, out=torch.ones(2))
