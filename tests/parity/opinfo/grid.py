"""Numbers at the edges, in every combination, and a sample's call with these for its operands."""

from __future__ import annotations

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from tests.parity.opinfo.sides import flat

EDGES = (math.nan, math.inf, -math.inf, 0.0, -0.0)
NUMBERS = (1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 2.5, -6.0, 6.0, 40.0, -40.0, 0.1, -0.1)
MOST = 800
"""So many combinations at most."""


def _real(dtype: torch.dtype) -> list[list[complex]]:
    """From all that are tried down to the fewest."""
    far = torch.finfo(dtype).max / 1e8
    whole = (*EDGES, *NUMBERS, far, -far, 1 / far, -1 / far)
    return [[*whole], [*EDGES, *NUMBERS[:6]], [*EDGES, 1.0, -2.0], [*EDGES[:4]]]


def _complex() -> list[list[complex]]:
    parts = (
        (*EDGES, 1.0, -1.0, 0.5, -2.0),
        (math.nan, math.inf, 0.0, -1.0),
        (math.nan, 0.0, 1.0),
        (0.0, -2.0),
    )
    return [[complex(*z) for z in product(some, some)] for some in parts]


def values(dtype: torch.dtype, operands: int) -> list[complex]:
    """What each operand is to be, in combination with all others."""
    drawn = _complex() if dtype.is_complex else _real(dtype)
    return next((some for some in drawn if len(some) ** operands <= MOST), drawn[-1])


def tensors_of(sample: Any) -> list[torch.Tensor]:
    """The tensors among the arguments, each once."""
    given = flat((sample.input, sample.args, list(sample.kwargs.values())))
    return list({id(x): x for x in given if isinstance(x, torch.Tensor)}.values())


def facts_of(sample: Any) -> str:
    """All of a call but the shapes and elements of its tensors."""

    def fact(value: Any) -> Any:
        return value.dtype if isinstance(value, torch.Tensor) else value

    plain = sample.transform(fact)
    return repr((plain.input, plain.args, plain.kwargs))


class Columns(NamedTuple):
    """A sample with its tensors told apart: those of a dtype, and others beside them."""

    op: Any
    sample: Any
    at: list[torch.Tensor]
    beside: list[torch.Tensor]

    def placed(self, drawn: list[torch.Tensor], beside: list[torch.Tensor]) -> Any:
        """The sample with these for its own."""
        pairs = [*zip(self.at, drawn, strict=True), *zip(self.beside, beside, strict=True)]
        return self.sample.transform(
            lambda value: next((new for old, new in pairs if old is value), value)
        )


def columns(op: Any, sample: Any, dtype: torch.dtype) -> Columns:
    """A sample's tensors, of this dtype and of others."""
    found = tensors_of(sample)
    return Columns(
        op, sample, [x for x in found if x.dtype is dtype], [x for x in found if x.dtype != dtype]
    )


class Rows(NamedTuple):
    """Elements side by side, in columns of one length.

    xs: operands. beside: tensors of other dtypes. g, h: cotangents of the first and second walk.
    """

    xs: list[np.ndarray]
    beside: list[torch.Tensor]
    g: np.ndarray
    h: list[np.ndarray]

    def followed_by(self, count: int) -> Rows:
        """These rows, and the last one so many times more."""
        take = np.minimum(np.arange(len(self.g) + count), len(self.g) - 1)
        beside = [x[torch.from_numpy(take)] for x in self.beside]
        return Rows([x[take] for x in self.xs], beside, self.g[take], [x[take] for x in self.h])

    def at(self, i: int) -> tuple[Any, ...]:
        """The operands of one row."""
        return tuple(x[i].item() for x in self.xs)


def rows(call: Columns, dtype: torch.dtype) -> Rows:
    """Every combination of the values, with cotangents drawn for them."""
    kind = np.complex128 if dtype.is_complex else np.float64
    grid = np.array(list(product(values(dtype, len(call.at)), repeat=len(call.at))), kind)
    rng = np.random.default_rng(5)

    def drawn() -> np.ndarray:
        parts = rng.standard_normal((2, len(grid)))
        return np.asarray(parts[0] + 1j * parts[1] if dtype.is_complex else parts[0])

    beside = [_mixed(x, len(grid), rng) for x in call.beside]
    return Rows([c.copy() for c in grid.T], beside, drawn(), [drawn() for _ in call.at])


def _mixed(tensor: torch.Tensor, count: int, rng: np.random.Generator) -> torch.Tensor:
    """Truth values of both kinds; of other dtypes the first element everywhere."""
    if tensor.dtype is torch.bool:
        return torch.from_numpy(rng.integers(0, 2, count)).bool()
    return tensor.flatten()[:1].expand(count).clone()


def one_by_one(call: Columns, dtype: torch.dtype) -> bool:
    """Whether the op of several elements is that of each of them: told by trying it."""
    if not all(x.numel() for x in call.beside):
        return False
    rng = np.random.default_rng(3)
    drawn = [torch.tensor(rng.uniform(0.1, 0.9, 6), dtype=dtype) for _ in call.at]
    beside = [_mixed(x, 6, rng) for x in call.beside]
    parts = [
        _result(call.op, call.placed([x[part] for x in drawn], [x[part] for x in beside]))
        for part in (slice(None), *(slice(i, i + 1) for i in range(6)))
    ]
    sound = [part for part in parts if part is not None]
    if len(sound) < 7:
        return False
    return bool(torch.allclose(sound[0], torch.cat(sound[1:]), equal_nan=True))


def _result(op: Any, sample: Any) -> torch.Tensor | None:
    """One result of the first operand's shape, if that is what torch gives."""
    first = sample.input
    try:
        found = op.op(first, *sample.args, **sample.kwargs)
    except Exception:
        return None
    both = isinstance(first, torch.Tensor) and isinstance(found, torch.Tensor)
    return found if both and found.shape == first.shape else None
