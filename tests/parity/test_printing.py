"""Tensors print as torch prints them, to the letter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradwire

torch = pytest.importorskip("torch", reason="make parity installs torch")

_RNG = np.random.default_rng(0)
ARRAYS: dict[str, Any] = {
    "scalar": 1.5,
    "whole scalar": 2.0,
    "int": 7,
    "bool": True,
    "complex": 1 - 2.5j,
    "vector": [1.0, 2.5, -3.0],
    "whole": [1.0, 2.0, 300.0],
    "wide whole": [1.0, 20000.0],
    "large": [1e9, 1.0],
    "small": [1e-5, 1.0],
    "tiny": [1e-30],
    "fractions": [0.1, 123.456, -7.0],
    "far apart": [0.5, 5000.25],
    "nan": [float("nan"), 1.0],
    "nan and fraction": [float("nan"), 1.5, float("-inf")],
    "only nan": [float("nan")],
    "infinities": [float("inf"), float("-inf")],
    "zeros": [0.0, -0.0],
    "zero and small": [0.0, 1e-5],
    "ints": [1, -20, 300],
    "bools": [True, False],
    "complexes": [1 + 2j, -0.5 - 10j],
    "complex nan": [complex(float("nan"), 1), complex(1, float("inf"))],
    "matrix": [[1.0, 2.0], [3.0, 4.5]],
    "cube": np.arange(24).reshape(2, 3, 4),
    "four axes": np.arange(16.0).reshape(2, 2, 2, 2),
    "empty": [],
    "empty rows": np.zeros((2, 0)),
    "empty ints": np.zeros((0, 3), np.int64),
    "long": _RNG.normal(size=40),
    "long ints": np.arange(100),
    "summarised": np.arange(2000.0),
    "summarised matrix": _RNG.normal(size=(40, 40)),
    "summarised cube": np.arange(12 * 10 * 11).reshape(12, 10, 11),
    "summarised narrow": _RNG.normal(size=(600, 2)),
    "summarised complex": _RNG.normal(size=1200) + 1j,
    "hidden extremes": np.concatenate([np.ones(5), [1e12], np.ones(2000)]),
    "float16": np.array([0.1, 65504, 1], np.float16),
    "float64": np.array([1.0, 0.123456789]),
    "int32": np.array([1, 2], np.int32),
    "uint8": np.array([255], np.uint8),
    "complex128": np.array([1j]),
}


def both(name: str) -> tuple[Any, Any]:
    value = ARRAYS[name]
    return torch.tensor(value), gradwire.tensor(value)


@pytest.mark.parametrize("name", ARRAYS)
def test_elements(name: str) -> None:
    expected, actual = both(name)
    assert repr(actual) == repr(expected)
    assert str(actual) == str(expected)


@pytest.mark.parametrize("name", [n for n in ARRAYS if "int" not in n and "bool" not in n])
def test_what_follows_the_elements(name: str) -> None:
    for x in both(name):
        if not (x.is_floating_point() or x.is_complex()):
            return
    shown = []
    for x in both(name):
        x.requires_grad_()
        shown.append([repr(v) for v in (x, x * 2, x.detach(), x.reshape(-1)[:1])])
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2},
        {"precision": 7, "linewidth": 40},
        {"threshold": 10, "edgeitems": 2},
        {"profile": "short"},
        {"profile": "full"},
        {"sci_mode": True},
        {"sci_mode": False},
    ],
    ids=str,
)
def test_options(options: dict[str, Any]) -> None:
    names = [n for n in ARRAYS if "profile" not in options or "summarised" not in n]
    torch.set_printoptions(**options)
    gradwire.set_printoptions(**options)
    try:
        for name in names:
            expected, actual = both(name)
            assert repr(actual) == repr(expected), name
    finally:
        torch.set_printoptions(profile="default")
        gradwire.set_printoptions(profile="default")


def test_bfloat16() -> None:
    assert repr(gradwire.tensor([0.1, 2.0]).bfloat16()) == repr(torch.tensor([0.1, 2.0]).bfloat16())


def test_the_default_dtype() -> None:
    for module in (torch, gradwire):
        module.set_default_dtype(module.float64)
    try:
        for value in ([1.0], [1j], [1], np.array([1.0], np.float32)):
            assert repr(gradwire.tensor(value)) == repr(torch.tensor(value))
    finally:
        for module in (torch, gradwire):
            module.set_default_dtype(module.float32)


def test_shapes_devices_and_dtypes() -> None:
    for module in (torch, gradwire):
        x = module.zeros(2, 3)
        assert [repr(v) for v in (x.shape, x.shape[:1], x.dtype, x.size(), x.device)] == [
            "torch.Size([2, 3])",
            "torch.Size([2])",
            "torch.float32",
            "torch.Size([2, 3])",
            "device(type='cpu')",
        ]


def test_in_modes() -> None:
    shown = []
    for module in (torch, gradwire):
        x = module.ones(2, requires_grad=True)
        with module.no_grad():
            shown.append(repr([x, x * 2, x.view(2)]))
    assert shown[0] == shown[1]
