"""What a program has made so far, kept while it is generated: torch itself is the model of it.

Proposed steps are tried on torch, so shapes are known, and errors come as often as is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from tests.parity.differential.step import Dtype, Given, Ref, Step

FLOATS = ("float64", "float32", "float16", "bfloat16", "complex128", "complex64")
_DTYPES = dict(
    zip(
        ("float64", "float32", "complex128", "int64", "bool", "float16", "bfloat16", "complex64",
         "int32", "uint8"),
        (50, 14, 10, 8, 4, 4, 3, 3, 2, 2),
        strict=True,
    )
)  # fmt: skip
_SHAPES = ((3, 2), (2, 3), (2, 2), (3,), (2,), (), (2, 3, 2), (1, 3), (3, 1), (1,), (0,), (2, 0))
_SHAPE_WEIGHTS = (6, 5, 5, 5, 4, 4, 3, 3, 3, 2, 1, 1)


class World:
    """The variables of a program in the making, and ways to pick among them."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.variables: dict[str, Any] = {}
        self.plain = bool(rng.random() < 0.5)  # float64 only, so that more of it fits together
        self.inference = bool(rng.random() < 0.2)  # whether inference mode occurs at all
        self.count = 0

    def name(self) -> str:
        """A name that is free."""
        self.count += 1
        return f"t{self.count - 1}"

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def one(self, items: Sequence[Any]) -> Any:
        """One of some items."""
        return items[int(self.rng.integers(len(items)))]

    def whole(self, low: int, high: int) -> int:
        """A whole number in low..high, both included."""
        return int(self.rng.integers(low, high + 1))

    def number(self) -> float:
        """A small number with a short text."""
        return self.one((2, -1, 3, 0.5, 1.5, -0.25, 0.75, 1, 0))  # type: ignore[no-any-return]

    def dtype(self) -> str:
        if self.plain:
            return "float64"
        weights = np.array(list(_DTYPES.values()), float)
        return str(self.rng.choice(list(_DTYPES), p=weights / weights.sum()))

    def shape(self) -> tuple[int, ...]:
        weights = np.array(_SHAPE_WEIGHTS, float)
        return _SHAPES[int(self.rng.choice(len(_SHAPES), p=weights / weights.sum()))]

    def literal(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Nested lists of numbers of a dtype."""
        values = self.rng.uniform(-2, 2, shape).round(2)
        if dtype.startswith("complex"):
            values = values + 1j * self.rng.uniform(-2, 2, shape).round(2)
        elif dtype == "bool":
            values = values > 0
        elif "int" in dtype:
            values = self.rng.integers(0 if dtype == "uint8" else -3, 4, shape)
        return np.asarray(values).tolist()

    def given(self, shape: tuple[int, ...], dtype: str) -> Given:
        """A new tensor of a shape and dtype, made for one use."""
        return Given(self.literal(shape, dtype), dtype)

    def beside(self, x: Ref, shape: Sequence[int]) -> Any:
        """A tensor of a shape, of the dtype of x; a new one if there is none, and at times."""
        like = self.get(x).dtype
        found = self.strictly(lambda y: y.shape == tuple(shape) and y.dtype == like)
        if found is not None and self.chance(0.8):
            return found
        return self.given(tuple(shape), str(like).rpartition(".")[2])

    def mask(self, shape: Sequence[int]) -> Any:
        """A mask of a shape: one of the program's, or a new one; seldom of another shape."""
        found = self.any(lambda y: y.dtype == torch.bool and y.shape == tuple(shape))
        if found is not None and self.chance(0.5):
            return found
        return self.given(tuple(shape) if self.chance(0.9) else (2,), "bool")

    def places(self, shape: tuple[int, ...], size: int) -> Given:
        """Indices into an axis of a size, seldom one beyond it; not negative."""
        top = size if size and not self.chance(0.04) else size + 1
        return Given(self.rng.integers(0, top, shape).tolist(), "int64")

    # picking tensors

    def tensors(self, fits: Callable[[Any], bool] | None = None) -> list[str]:
        """Names of the tensors that fit."""
        of = self.variables.items()
        return [n for n, x in of if isinstance(x, torch.Tensor) and self._fits(x, fits)]

    def _fits(self, x: Any, fits: Callable[[Any], bool] | None) -> bool:
        try:
            return fits is None or fits(x)
        except RuntimeError:  # a view that may not be used any more: it is, at times
            return self.chance(0.3)

    def any(self, fits: Callable[[Any], bool] | None = None) -> Ref | None:
        """A tensor, later ones more often; mostly one that fits if there is such a one."""
        names = self.tensors(fits)
        if not names or self.chance(0.04):
            names = self.tensors() if self.chance(0.5) or fits is None else names
        if not names:
            return None
        place = int(len(names) * self.rng.random() ** 0.75)
        return Ref(names[place])

    def strictly(self, fits: Callable[[Any], bool]) -> Ref | None:
        """A tensor that fits, or none: where another one would be wrong in several ways at once."""
        names = self.tensors(fits)
        return Ref(self.one(names)) if names else None

    def get(self, ref: Ref) -> Any:
        """The model's tensor."""
        return self.variables[ref.name]

    def fellow(self, x: Ref, dtype: bool = False) -> Any:
        """Another operand for x: a tensor that broadcasts with it, a number, seldom any tensor."""
        shape = self.get(x).shape
        if self.chance(0.2):
            return self.number()
        return self.any(lambda y: _broadcasts(shape, y.shape)) or self.number()

    def tensor_beside(self, x: Ref) -> Ref:
        """A tensor that broadcasts with x, or x."""
        shape = self.get(x).shape
        return self.any(lambda y: _broadcasts(shape, y.shape)) or x

    def same(self, x: Ref) -> Any:
        """A tensor of the same shape and dtype, or a new literal in its place."""
        like = self.get(x)
        return self.any(lambda y: y.shape == like.shape and y.dtype == like.dtype)

    def dim(self, x: Ref) -> int:
        """An axis of x, seldom one that it hasn't."""
        ndim = self.get(x).ndim
        if floating(self.get(x)) and self.chance(0.03 if ndim else 0.5):
            return self.whole(-3, 3)
        if not ndim:
            return self.whole(-1, 0)
        return self.whole(-ndim, ndim - 1)


def _broadcasts(a: Sequence[int], b: Sequence[int]) -> bool:
    pairs = zip(reversed(a), reversed(b), strict=False)
    return all(n == m or 1 in (n, m) for n, m in pairs)


def floating(x: Any) -> bool:
    """Whether it can require grad."""
    return bool(x.dtype.is_floating_point or x.dtype.is_complex)


def recording(x: Any) -> bool:
    """Whether it requires grad."""
    return bool(x.requires_grad)


def with_axes(x: Any) -> bool:
    """Whether it has axes."""
    return x.ndim > 0


def method(kind: str, name: str, x: Ref, *args: Any, out: str = "", **kwargs: Any) -> Step:
    """A step that calls a tensor's method."""
    return Step(kind, "method", name, (x, *args), tuple(kwargs.items()), (out,) if out else ())


def function(kind: str, name: str, *args: Any, out: str = "", **kwargs: Any) -> Step:
    """A step that calls a function of the library."""
    return Step(kind, "function", name, args, tuple(kwargs.items()), (out,) if out else ())


__all__ = [
    "FLOATS", "Dtype", "Ref", "Step", "World", "floating", "function", "method", "recording",
    "with_axes",
]  # fmt: skip
