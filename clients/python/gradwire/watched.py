"""What a function looks up outside of its arguments: by that a compiled one knows when it is stale.

Closures, globals, defaults and the attributes of objects among them, functions that it calls
included. Tensors are watched by who they are, numbers and texts by what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from operator import attrgetter
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

from gradwire.session import Session
from gradwire.tensor import Tensor

_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})
_LEFT_ALONE = (Tensor, Session, ModuleType, BuiltinFunctionType, type)
MOST = 10_000
"""Things that are watched at most."""

_contents, _requires_grad = attrgetter("cell_contents"), attrgetter("requires_grad")
_defaults, _forward = attrgetter("__defaults__"), attrgetter("forward")


class _Full(Exception):
    """As much is watched as may be."""


class Watched:
    """What a call of a function may look up, when this was made: closures, globals, defaults.

    Also what these lead to by items and attributes, but for those of classes and of `__slots__`.
    seen: names and what stood there. Beside it stand the places where that was found, as a function
    that looks there, its argument and what it gave: most calls ask only whether it still does.
    """

    def __init__(self, function: Any) -> None:
        self.seen: list[tuple[str, Any]] = []
        self._places: list[tuple[Callable[[Any], Any], Any, Any]] = []
        self._met: set[int] = set()
        with suppress(_Full):
            self._look("the function", function)
        del self._met

    def stands(self) -> bool:
        """Whether each place still has what it had; if not, it may yet be an equal number."""
        try:
            for look, at, found in self._places:
                if look(at) is not found:
                    return False
        except (LookupError, AttributeError, ValueError):  # nothing is there any more
            return False
        return True

    def changed(self, now: Watched) -> str | None:
        """The first name that stands for something else in a later look at the function."""
        for (name, old), (again, new) in zip(self.seen, now.seen, strict=False):
            if name != again or not _same(old, new):
                return again
        before, after = len(self.seen), len(now.seen)
        if before != after:
            return (self if before > after else now).seen[min(before, after)][0]
        return None

    def _look(self, name: str, value: Any) -> None:
        if len(self.seen) >= MOST:
            raise _Full
        self.seen.append((name, value))
        if type(value) in _PLAIN:
            return
        if isinstance(value, Tensor):
            self.seen.append((f"requires_grad of {name}", value.requires_grad))
            self._places.append((_requires_grad, value, value.requires_grad))
        if id(value) in self._met or isinstance(value, _LEFT_ALONE) or _of_engine(value):
            return
        self._met.add(id(value))
        for part, item in self._parts(value):
            self._look(f"{name}, {part}" if name == "the function" else part, item)

    def _parts(self, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, MethodType):
            yield "self", value.__self__
            yield from self._parts(value.__func__)
        elif isinstance(value, FunctionType):
            yield from self._looked_up(value)
        elif isinstance(value, partial):
            yield from (("partial", part) for part in (value.func, value.args, value.keywords))
        elif isinstance(value, dict):
            yield from self._items(value, "{}")
        elif isinstance(value, list | tuple):
            if isinstance(value, list):
                self._places.append((list.__len__, value, len(value)))
                item_of = partial(list.__getitem__, value)
                self._places += [(item_of, i, item) for i, item in enumerate(value)]
            yield from ((f"item {i}", item) for i, item in enumerate(value))
        elif hasattr(value, "__dict__"):
            self._places += [(type, value, type(value)), (vars, value, vars(value))]
            yield from self._items(vars(value), "attribute {}")
            forward = getattr(type(value), "forward", None) or vars(type(value)).get("__call__")
            if isinstance(forward, FunctionType):
                if hasattr(type(value), "forward"):
                    self._places.append((_forward, type(value), forward))
                yield from self._parts(forward)

    def _items(self, value: dict[Any, Any], name: str) -> Iterator[tuple[str, Any]]:
        keys = list(value)
        if len(keys) < 2 and type(value) is dict:  # each is looked up below
            self._places.append((dict.__len__, value, len(keys)))
        else:
            self._places.append((partial(_has_keys, keys), value, True))
        item_of = value.__getitem__ if type(value) is dict else partial(dict.__getitem__, value)
        for key, item in list(value.items()):
            self._places.append((item_of, key, item))
            yield name.format(key), item

    def _looked_up(self, function: FunctionType) -> Iterator[tuple[str, Any]]:
        code, names = function.__code__, function.__globals__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._places.append((_is_bound, cell, _is_bound(cell)))
            if _is_bound(cell):
                self._places.append((_contents, cell, cell.cell_contents))
                yield f"closure {name}", cell.cell_contents
        if _package(function) == "gradwire":
            return  # what else it looks up doesn't change; a transform's closure is the user's
        for name in code.co_names:
            if name in names:
                self._places.append((names.__getitem__, name, names[name]))
                yield f"global {name}", names[name]
            else:
                self._places.append((names.__contains__, name, False))
        self._places.append((_defaults, function, function.__defaults__))
        yield from ((f"default {i}", item) for i, item in enumerate(function.__defaults__ or ()))


def _package(value: Any) -> str:
    """The package that a function is of, or the class of anything else."""
    owner = value if isinstance(value, FunctionType) else type(value)
    return (owner.__module__ or "").partition(".")[0]


def _of_engine(value: Any) -> bool:
    """Whether it is one of the packages below, of which nothing changes what a function does."""
    return _package(value) in ("gradwire_engine", "gradwire_service")


def _has_keys(keys: list[Any], value: dict[Any, Any]) -> bool:
    return list(value) == keys


def _is_bound(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 (raises where there is nothing)
    except ValueError:
        return False
    return True


def _same(old: Any, new: Any) -> bool:
    if type(old) in _PLAIN:
        return type(old) is type(new) and (old == new or old is new)
    return old is new


__all__ = ["Watched"]
