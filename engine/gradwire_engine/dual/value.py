"""Dual numbers: a value with the tangent that goes with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire_engine.errors import error
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.spec import Spec, Value


class Dual(Value):
    """A value and the tangent that goes with it: of its shape and dtype, or None for zero.

    level: the depth of the forward walk that it belongs to; both parts are of lower levels.
    """

    __slots__ = ("__weakref__", "level", "primal", "tangent")

    def __init__(self, primal: Any, tangent: Any, level: int) -> None:
        self.primal, self.tangent, self.level = primal, tangent, level

    @property
    def spec(self) -> Spec:
        return self.primal.spec  # type: ignore[no-any-return]

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element of the value to the next, an axis each."""
        return self.primal.strides  # type: ignore[no-any-return]

    @property
    def array(self) -> Any:
        """The value's elements alone, for what is decided by them."""
        return self.primal.array

    def numpy(self) -> Any:
        """The same as a NumPy array."""
        return self.primal.numpy()

    @property
    def requires_grad(self) -> bool:
        """Whether reverse mode has something to do below this value."""
        return bool(self.primal.requires_grad)

    def within(self, change: Callable[[Any], Any]) -> Dual:
        """The same tangent with another value."""
        return Dual(change(self.primal), self.tangent, self.level)

    def throughout(self, change: Callable[[Any], Any]) -> Dual:
        """Value and tangent both changed."""
        tangent = None if self.tangent is None else change(self.tangent)
        return Dual(change(self.primal), tangent, self.level)

    def detach(self) -> Any:
        """The value without history and without tangent, as in torch."""
        return self.primal.detach()

    def rename_node(self, label: str) -> None:
        """Give the node that made the value torch's name for it."""
        self.primal.rename_node(label)

    def describe(self) -> str:
        """For error texts."""
        return f"{self.primal.describe()} with a tangent"

    def __repr__(self) -> str:
        return f"<Dual {self.level}: {self.primal!r}, tangent {self.tangent!r}>"


def unpacked(value: Any, level: int) -> tuple[Any, Any]:
    """The value and its tangent at a level; the tangent is None where it is zero."""
    if type(value) is Dual and value.level == level:
        return value.primal, value.tangent
    return value, None


def dual(primal: Any, tangent: Any, level: int, called: str = "a value") -> Dual:
    """A value with a tangent, which must have its shape and dtype. called: in error texts."""
    if primal.shape != tangent.shape:
        raise error(
            "shape_mismatch",
            f"jvp: {called} has shape {list(primal.shape)}, its tangent has {list(tangent.shape)}",
            "give each value a tangent of its shape",
        )
    if primal.dtype is not tangent.dtype:
        raise error(
            "dtype_mismatch",
            f"jvp: {called} is {primal.dtype.name}, its tangent is {tangent.dtype.name}",
            "convert the tangent",
        )
    return Dual(primal, tangent, level)


VALUE_TYPES.add(Dual)
