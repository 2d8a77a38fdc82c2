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
FAR, NEAR = 1e4, 1e-30
"""So near to infinity and to 0, with their powers still numbers."""
MOST = 800
"""So many combinations at most."""


def _real() -> list[list[complex]]:
    """From all that are tried down to the fewest."""
    whole = (*EDGES, *NUMBERS, 100.0, -100.0)
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
    drawn = _complex() if dtype.is_complex else _real()
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

    @property
    def axes(self) -> tuple[int, ...]:
        """The shape for a column: as many axes as the sample has, all but the first of size 1."""
        return (-1, *[1] * (max(x.ndim for x in (*self.at, *self.beside)) - 1))

    def leaves(self, r: Rows, dtype: torch.dtype, smooth: bool) -> tuple[list[torch.Tensor], Any]:
        """Tensors of these rows, and the sample with them."""
        xs = [torch.tensor(x, dtype=dtype).reshape(self.axes) for x in r.xs]
        for x in xs:
            x.requires_grad_(smooth)
        return xs, self.placed(xs, [x.reshape(self.axes) for x in r.beside])

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

    def taken(self, places: np.ndarray) -> Rows:
        """These of them."""
        beside = [x[torch.from_numpy(places)] for x in self.beside]
        h = [x[places] for x in self.h]
        return Rows([x[places] for x in self.xs], beside, self.g[places], h)

    def followed_by(self, count: int) -> Rows:
        """These rows, and the last one so many times more."""
        return self.taken(np.minimum(np.arange(len(self.g) + count), len(self.g) - 1))

    def nearby(self) -> Rows:
        """Numbers beside the infinities and the zeros."""
        return self._replace(xs=[_moved(x) for x in self.xs])

    def at(self, i: int) -> tuple[Any, ...]:
        """The operands of one row."""
        return tuple(x[i].item() for x in self.xs)


def rows(call: Columns, dtype: torch.dtype) -> Rows:
    """Every combination of the values."""
    kind = np.complex128 if dtype.is_complex else np.float64
    grid = np.array(list(product(values(dtype, len(call.at)), repeat=len(call.at))), kind)
    return in_rows([c.copy() for c in grid.T], call.beside, dtype)


def in_rows(xs: list[np.ndarray], beside: list[torch.Tensor], dtype: torch.dtype) -> Rows:
    """These columns, with cotangents drawn for them."""
    rng, count = np.random.default_rng(5), len(xs[0])

    def drawn() -> np.ndarray:
        parts = rng.standard_normal((2, count))
        return np.asarray(parts[0] + 1j * parts[1] if dtype.is_complex else parts[0])

    mixed = [_mixed(x, count, rng) for x in beside]
    return Rows(xs, mixed, drawn(), [drawn() for _ in xs])


def _moved(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        found = np.empty_like(x)
        found.real, found.imag = _moved(x.real), _moved(x.imag)
        return found
    return np.asarray(np.where(x == 0, np.copysign(NEAR, x), np.clip(x, -FAR, FAR)))


def _mixed(tensor: torch.Tensor, count: int, rng: np.random.Generator) -> torch.Tensor:
    """Truth values of both kinds; of other dtypes the first element everywhere."""
    if tensor.dtype is torch.bool:
        return torch.from_numpy(rng.integers(0, 2, count)).bool()
    return tensor.flatten()[:1].expand(count).clone()


def one_by_one(call: Columns, dtype: torch.dtype) -> bool:
    """Whether the op of several elements is that of each of them: told by trying it.

    Whole numbers beside them are mostly places, which fit no other tensor.
    """
    if not call.at or any(not x.numel() or _whole(x) for x in call.beside):
        return False
    rng = np.random.default_rng(3)
    xs = [rng.uniform(0.1, 0.9, 6) for _ in call.at]
    six = Rows(xs, [_mixed(x, 6, rng) for x in call.beside], xs[0], [])
    far = six._replace(xs=[x * 40 for x in xs])
    return _each(call, six, dtype) is True and _each(call, far, dtype) is not False


def _each(call: Columns, r: Rows, dtype: torch.dtype) -> bool | None:
    """Whether the rows are each for itself; None where torch refuses their numbers."""
    count = len(r.g)
    parts = [
        _result(call, r.taken(places), dtype)
        for places in (np.arange(count), *(np.array([i]) for i in range(count)))
    ]
    sound = [y for y in parts if y is not None]
    if len(sound) <= count:
        return None
    return torch.allclose(sound[0], torch.cat(sound[1:]), equal_nan=True)


def _whole(tensor: torch.Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype is torch.bool)


def _result(call: Columns, r: Rows, dtype: torch.dtype) -> torch.Tensor | None:
    """One result of the first operand's shape, if that is what torch gives."""
    xs, sample = call.leaves(r, dtype, False)
    try:
        found = call.op.op(sample.input, *sample.args, **sample.kwargs)
    except Exception:
        return None
    alike = isinstance(found, torch.Tensor) and found.shape == xs[0].shape
    return found if alike else None
