"""Nests of tuples, lists and dicts that functions take and give: compared, shown, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire.functions import catalogued
from gradwire.tensor import Tensor
from gradwire.trace import restored, taken_apart


def _star(_: Any) -> str:
    return "*"


def shown(value: Any, leaf: Callable[[Any], str] = _star) -> str:
    """A nest as torch prints it, `*` for whatever is none; alike for those of one structure."""
    if isinstance(value, dict):
        items = [f"{key!r}: {shown(item, leaf)}" for key, item in value.items()]
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list | tuple):
        parts = ", ".join([shown(item, leaf) for item in value])
        if isinstance(value, list):
            return f"[{parts}]"
        name = "" if type(value) is tuple else type(value).__name__
        return f"{name}({parts},)" if len(value) == 1 else f"{name}({parts})"
    return leaf(value)


def leaves(value: Any) -> list[Any]:
    """Whatever is no nest, in order."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def spread(said: Any, value: Any) -> list[Any] | None:
    """What is said of each leaf of a nest: one item stands for all below it. None: no such nest.

    Dicts are alike if they have the same keys, in whatever order.
    """
    if not isinstance(said, tuple | list | dict):
        return [said] * len(leaves(value))
    if type(said) is not type(value) or len(said) != len(value):
        return None
    if isinstance(said, dict) and set(said) != set(value):
        return None
    found: list[Any] = []
    for key in value if isinstance(said, dict) else range(len(said)):
        below = spread(said[key], value[key])
        if below is None:
            return None
        found += below
    return found


def check_tensors(found: list[Any], only: str, some: str) -> None:
    """Leaves have to be tensors, and there has to be one. only, some: what is wrong otherwise."""
    for leaf in found:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{only}, got {type(leaf)}")
    if not found:
        raise RuntimeError(some)


def each_once(found: Any) -> Any:
    """Results of which no two are the same tensor, nor anything but tensors of their own."""
    met: set[int] = set()
    parts: list[Tensor] = []

    def take(tensor: Tensor) -> None:
        again = id(tensor) in met
        met.add(id(tensor))
        parts.append(catalogued("clone")(tensor) if again else tensor)

    structure = taken_apart(found, take)
    return restored(structure, iter(parts))


__all__ = ["check_tensors", "each_once", "leaves", "shown", "spread"]
