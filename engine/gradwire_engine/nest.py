"""Nested arguments and results: tuples, lists and dicts of values, as flat lists and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


class Mismatch(Exception):
    """A prefix does not have the structure of what it should stand for."""


def leaves(tree: Any) -> list[Any]:
    """What stands at the ends of a nested structure, in order; dicts by their keys' order."""
    if isinstance(tree, dict):
        return [leaf for key in tree for leaf in leaves(tree[key])]
    if isinstance(tree, (tuple, list)):
        return [leaf for item in tree for leaf in leaves(item)]
    return [tree]


def mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    """The same structure with every leaf changed, in order."""
    if isinstance(tree, dict):
        return type(tree)((key, mapped(change, item)) for key, item in tree.items())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[mapped(change, item) for item in tree])
    if isinstance(tree, (tuple, list)):
        return type(tree)(mapped(change, item) for item in tree)
    return change(tree)


def filled(tree: Any, values: Iterator[Any]) -> Any:
    """The same structure with other leaves, taken in order."""
    return mapped(lambda leaf: next(values), tree)


def spread(prefix: Any, tree: Any) -> list[Any]:
    """For each leaf of a tree what the prefix says: an entry of it holds for all below it."""
    if not isinstance(prefix, (tuple, list, dict)):
        return [prefix] * len(leaves(tree))
    if isinstance(prefix, dict):
        if not isinstance(tree, dict) or set(prefix) != set(tree):
            raise Mismatch
        return [entry for key in tree for entry in spread(prefix[key], tree[key])]
    alike = isinstance(tree, (tuple, list)) and isinstance(prefix, tuple) == isinstance(tree, tuple)
    if not alike or len(prefix) != len(tree):
        raise Mismatch
    return [e for part, item in zip(prefix, tree, strict=True) for e in spread(part, item)]
