"""Three samples of every entry of torch's own table of ops; `make parity-full` runs all of them."""

from __future__ import annotations

import re
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

pytest.importorskip("torch", reason="make parity installs torch")

import torch
from tests.parity.opinfo.deviations import WRONG_AT_EDGES, WRONG_FAR_OUT, WRONG_IN_TORCH
from tests.parity.opinfo.run import WAYS, entries, left_out, told
from tests.parity.opinfo.sides import apply

import gradwire


@pytest.mark.parametrize("name", entries())
def test_three_samples_are_as_on_torch(name: str) -> None:
    gradwire.connect()
    found = {way: lines for way in WAYS if (lines := told(name, way, 3))}
    assert not found


def test_no_entry_is_lost_between_those_held_and_those_left_out() -> None:
    from torch.testing._internal.common_methods_invocations import op_db

    assert len(entries()) + left_out().total() == len(op_db)


def test_what_is_left_out_of_the_samples_is_known() -> None:
    assert told("float", "float64", 5) == []  # one of these is for channels_last
    with patch("tests.parity.opinfo.run.UNLIKE", re.compile("")):
        assert told("float", "float64", 5) == ["left out: memory_format=torch.channels_last"]


def test_the_table_is_as_large_as_it_should_be() -> None:
    assert len(entries()) >= 450
    smooth = [op for op in entries().values() if op.supports_autograd]
    assert sum(torch.complex128 in op.supported_backward_dtypes("cpu") for op in smooth) >= 280


@pytest.mark.parametrize("name", sorted(WRONG_IN_TORCH))
def test_torch_is_still_wrong_where_it_is_excused(name: str) -> None:
    """Else the excuse has to go."""
    gradwire.connect()
    with patch.dict(WRONG_IN_TORCH, clear=True):
        assert told(name, "complex128")


@pytest.mark.parametrize(
    ("name", "way"),
    [(n, "edges") for n in sorted(WRONG_AT_EDGES)] + [(n, "extremes") for n in WRONG_FAR_OUT],
)
def test_torch_still_has_other_derivatives_where_they_are_not_held(name: str, way: str) -> None:
    gradwire.connect()
    with patch.dict(WRONG_AT_EDGES, clear=True), patch.dict(WRONG_FAR_OUT, clear=True):
        assert told(name, way)


def test_polar_of_a_negative_length_is_right_here_and_wrong_in_torch() -> None:
    gradwire.connect()
    values = ([-1.5, 2.0], [0.5, -0.3])
    for library, right in ((gradwire, True), (torch, False)):
        at = [library.tensor(v, dtype=library.float64, requires_grad=True) for v in values]
        check = library.autograd.gradcheck
        assert check(library.polar, at, raise_exception=False) is right


def test_what_kron_kept_and_was_written_counts_as_it_was_here_and_as_it_is_in_torch() -> None:
    gradwire.connect()
    for library, found in ((gradwire, [3.0, 3.0]), (torch, [21.0, 21.0])):
        x, y = library.ones(2, requires_grad=True), library.tensor([1.0, 2.0])
        product = library.kron(x, y)
        y.add_(9)
        product.sum().backward()
        assert x.grad.tolist() == found


@pytest.mark.parametrize("name", ["logaddexp", "where"])
def test_a_walk_stops_at_a_complex_gradient_of_a_real_operand(name: str) -> None:
    """Both libraries' rules give it one, and the gradient of a complex operand is there."""
    gradwire.connect()
    for library in (gradwire, torch):
        x = library.tensor([0.5, -1.0], dtype=library.float64, requires_grad=True)
        other = library.tensor([1 + 1j, 0.3 - 2j], dtype=library.complex128)
        mask = library.tensor([True, False])

        def run(value, z, lib=library, m=mask):
            return lib.where(m, value, z) if name == "where" else lib.logaddexp(value, z)

        with pytest.raises(RuntimeError):
            run(x, other).abs().sum().backward()
        assert x.grad is None
        assert library.autograd.gradcheck(run, (x.detach(), other.requires_grad_()))


def test_beside_a_complex_number_where_gives_a_real_operand_the_real_part() -> None:
    gradwire.connect()
    for library in (gradwire, torch):
        x = library.tensor([[0.5, -1.0]], dtype=library.float64, requires_grad=True)
        mask = library.tensor([[True, False], [True, True]])
        cotangent = library.tensor([[2 - 1j, 5], [1j, 3 + 1j]], dtype=library.complex128)
        library.where(mask, x, 2j).backward(cotangent)
        assert x.grad.dtype is library.float64
        assert x.grad.tolist() == [[2.0, 3.0]]


def test_halves_of_float64_are_rounded_by_way_of_float32() -> None:
    """Every 17,000th number is another half than if it were rounded once."""
    gradwire.connect()
    values = np.random.default_rng(0).standard_normal(100_000)
    wanted = torch.tensor(values).half().numpy()
    assert not np.array_equal(values.astype(np.float16), wanted)
    wide, half = gradwire.tensor(values), gradwire.float16
    zeros = gradwire.zeros(values.size, dtype=half)
    leaf = zeros.clone().requires_grad_()
    leaf.double().backward(wide)
    seen = {
        "to": wide.half(),
        "tensor": gradwire.tensor(values, dtype=half),
        "gradient": leaf.grad,
        "copy_": zeros.clone().copy_(wide),
    }
    for where, found in seen.items():
        assert np.array_equal(found.numpy(), wanted), where
    odd = int(np.flatnonzero(values.astype(np.float16) != wanted)[0])
    filled = gradwire.full((1,), float(values[odd]), dtype=half)
    assert filled.item() == zeros[:1].fill_(wide[odd]).item() == wanted[odd]


def test_neighbours_explain_what_cancels_and_nothing_else() -> None:
    """The gradient of cov by its weights is 0 for a sample: there is no size to go by."""
    gradwire.connect()
    with patch("tests.parity.opinfo.precision.NEIGHBOURS", 0):
        assert told("cov", "float32")
    assert told("cov", "float32") == []

    def off(op: Any, ours: Any) -> Any:
        found = apply(op, ours)
        found.tensor = found.tensor * 1.001
        return found

    with patch("tests.parity.opinfo.precision.apply", off):
        lines = told("cov", "float32")
    assert any(line.startswith("result") for line in lines)
    assert any(line.startswith("gradient") for line in lines)
