"""Tensors in Python: made from what, read as what, and what NumPy's numbers do to them."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire as torch
from gradwire.session import Session

NAMES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 2), (2, 1, 3, 2)])
def test_arrays_go_up_and_come_back_bit_for_bit(session: Session, name: str, shape) -> None:
    dtype = getattr(torch, name)
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.random.default_rng(len(shape)).integers(0, 256, size, np.uint8)
    if name == "bool":
        raw &= 1
    array = raw.view(dtype.numpy).reshape(shape)
    back = torch.from_numpy(array).numpy()
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize("order", ["F", "reversed", "strided", "big-endian", "read-only"])
def test_arrays_however_they_lie(session: Session, order: str) -> None:
    array = np.arange(24.0).reshape(4, 6)
    given = {
        "F": np.asfortranarray(array),
        "reversed": array[::-1, ::-1],
        "strided": array[::2, ::3],
        "big-endian": array.astype(">f8"),
        "read-only": np.broadcast_to(array[:1], (4, 6)),
    }[order]
    assert np.array_equal(torch.tensor(given).numpy(), given)


def test_special_values(session: Session) -> None:
    given = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324])
    back = torch.tensor(given).numpy()
    assert back.tobytes() == given.tobytes()
    assert str(torch.full((2,), float("nan")).tolist()) == "[nan, nan]"
    assert (torch.zeros(1) + float("-inf")).item() == float("-inf")
    assert torch.ones(1, dtype=torch.complex64).mul(complex(0, 2)).item() == 2j


def test_arrays_that_no_tensor_can_hold(session: Session) -> None:
    for wrong in (np.array(["a"]), np.array([None]), np.array([1], "datetime64[s]")):
        with pytest.raises(TypeError):
            torch.tensor(wrong)
    with pytest.raises(TypeError):
        torch.from_numpy([1, 2])


def test_numpys_numbers_are_numbers(session: Session) -> None:
    x = torch.tensor([1.0, 2.0])
    for two in (np.float64(2), np.float32(2), np.int64(2), np.float16(2)):
        assert (x * two).dtype is torch.float32
        assert (two * x).tolist() == [2.0, 4.0]
    assert (torch.tensor([1, 2]) * np.int8(2)).dtype is torch.int64
    assert x[np.int64(1)].item() == 2.0
    assert torch.zeros(np.int64(2), 2).shape == (2, 2)


def test_arrays_are_no_operands(session: Session) -> None:
    x = torch.ones(2)
    for act in (lambda: np.ones(2) * x, lambda: np.ones(2) @ x, lambda: torch.add(x, np.ones(2))):
        with pytest.raises(TypeError):
            act()


def test_conversions_to_python(session: Session) -> None:
    assert (int(torch.tensor(2.7)), float(torch.tensor(3)), bool(torch.tensor([0.0]))) == (
        2,
        3.0,
        False,
    )
    assert complex(torch.tensor(1j)) == 1j
    assert ["a", "b"][torch.tensor(1)] == "b"
    assert list(range(torch.tensor(3))) == [0, 1, 2]
    assert torch.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert torch.tensor(1.5, dtype=torch.bfloat16).item() == 1.5
    assert type(torch.tensor(True).item()) is bool
    assert 2.0 in torch.tensor([1.0, 2.0])
    assert [x.item() for x in torch.tensor([1, 2])] == [1, 2]
    a, b = torch.tensor([1, 2])
    assert (a.item(), b.item()) == (1, 2)


def test_formats(session: Session) -> None:
    assert f"{torch.tensor(3.14159):.2f}" == "3.14"
    assert f"{torch.tensor([1.0])}" == "tensor([1.])"
    with pytest.raises(TypeError):
        f"{torch.ones(2):.2f}"


def test_hash_and_attributes(session: Session) -> None:
    x, y = torch.ones(1), torch.ones(1)
    assert len({x, y, x}) == 2
    x.note = "mine"
    assert x.note == "mine"


def test_sizes_and_devices(session: Session) -> None:
    x = torch.ones(2, 3, 4)
    assert x.shape == (2, 3, 4) == x.size()
    assert repr(x.shape) == "torch.Size([2, 3, 4])"
    assert repr(x.shape[1:]) == "torch.Size([3, 4])"
    assert repr(x.shape[:2] + x.shape[2:] * 2) == "torch.Size([2, 3, 4, 4])"
    assert (x.shape.numel(), x.numel(), x.size(-1), x.stride()) == (24, 24, 4, (12, 4, 1))
    assert x.device == "cpu" == torch.device("cpu")
    assert x.device == torch.device("cpu")
    assert repr(x.device) == "device(type='cpu')"
    assert torch.zeros(2, device=x.device).to("cpu").shape == (2,)


def test_dtypes(session: Session) -> None:
    assert torch.float is torch.float32
    assert torch.long is torch.int64
    assert repr(torch.float64) == "torch.float64"
    assert torch.float64.is_floating_point
    assert torch.complex64.is_complex
    assert torch.ones(2, dtype=float).dtype is torch.float64
    assert torch.zeros(2, dtype=bool).dtype is torch.bool
    assert torch.finfo(torch.float32).eps == 2.0**-23
    assert torch.finfo(torch.bfloat16).bits == 16
    assert torch.iinfo(torch.int8).max == 127
    with pytest.raises(TypeError):
        torch.finfo(torch.int64)


def test_the_default_dtype_before_and_after_a_session_exists(door: str | None) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        with torch.connect(door).session():
            ints = torch.tensor([1, 2])
            kept = torch.ones(2)
            assert (ints / 2).tolist() == [0.5, 1.0]
            assert (ints / 2).numpy().dtype == np.float64
            torch.set_default_dtype(torch.float32)
            later = ints.sin()
            assert (later.dtype, later.numpy().dtype) == (torch.float32, np.float32)
            assert (kept.dtype, kept.numpy().dtype) == (torch.float64, np.float64)
            torch.set_default_dtype(torch.bfloat16)
            assert torch.tensor([0.5]).dtype is torch.bfloat16
            assert (ints * 1.5).float().tolist() == [1.5, 3.0]
            with pytest.raises(TypeError):
                torch.set_default_dtype(torch.int64)
    finally:
        torch.set_default_dtype(torch.float32)


def test_literals_that_are_no_tensors(session: Session) -> None:
    for wrong, kind in (
        ([[1, 2], [3]], ValueError),
        ([[1], 2], TypeError),
        ([1, [2]], ValueError),
        ("a", TypeError),
        (None, RuntimeError),
        ({1: 2}, RuntimeError),
        ([None], RuntimeError),
        (2**64, ValueError),
    ):
        with pytest.raises(kind):
            torch.tensor(wrong)


def test_testing(session: Session) -> None:
    torch.testing.assert_close(torch.ones(2), torch.ones(2) + 1e-7)
    for wrong in (torch.ones(3), torch.ones(2) * 1.1, torch.ones(2, dtype=torch.float64)):
        with pytest.raises(AssertionError):
            torch.testing.assert_close(torch.ones(2), wrong)


def test_the_namespace_is_listed(session: Session) -> None:
    assert {"sin", "tensor", "float32", "nn", "no_grad"} <= set(dir(torch))
    assert "relu" in dir(torch.nn.functional)
    assert "sin" in dir(torch.ones(1))
    assert torch.sin.__doc__.startswith("The sine")
    assert "input: tensor" in torch.sin.__doc__


def test_the_last_parameter_of_an_activation_says_in_place(session: Session) -> None:
    for activate, after in (("relu", ()), ("leaky_relu", (0.1,)), ("hardtanh", (-1.0, 1.0))):
        x = torch.tensor([-2.0, 0.5])
        found = getattr(torch.nn.functional, activate)(x, *after, True)
        assert found.tolist() == x.tolist() != [-2.0, 0.5]


def test_a_dim_may_be_a_scalar_tensor_whichever_overload_takes_it(session: Session) -> None:
    x, dim = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor(0)
    assert torch.prod(x, dim=dim).tolist() == [3.0, 8.0]
    assert torch.median(x, dim).values.tolist() == [1.0, 2.0]


def test_pieces_of_whole_numbers_are_cut_where_a_tensor_says(session: Session) -> None:
    x, cuts = torch.arange(6), torch.tensor([[2, 9]])[0]
    for pieces in (
        torch.tensor_split(x, cuts[0]),
        torch.tensor_split(x, tensor_indices_or_sections=cuts[0]),
    ):
        assert [piece.tolist() for piece in pieces] == [[0, 1, 2], [3, 4, 5]]
