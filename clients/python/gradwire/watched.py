"""What a function looks up outside of its arguments: by that a compiled one knows when it is stale.

Closures, globals, defaults and the attributes of objects among them, functions that it calls
included. Tensors are watched by who they are, numbers and texts by what they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from gradwire.tensor import Tensor

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_LEFT_ALONE = (Tensor, ModuleType, BuiltinFunctionType, type)
MOST = 10_000
"""Things that are watched at most."""
Seen = list[tuple[str, Any]]
"""Names and what stood there."""


def watched(function: Any) -> Seen:
    """All that a call may look up, by name."""
    found: Seen = []
    for entry in _within("the function", function, set()):
        found.append(entry)
        if len(found) >= MOST:
            break
    return found


def changed(before: Seen, now: Seen) -> str | None:
    """The first name that stands for something else now."""
    for (name, old), (again, new) in zip(before, now, strict=False):
        if name != again or not _same(old, new):
            return again
    if len(before) != len(now):
        return (before if len(before) > len(now) else now)[min(len(before), len(now))][0]
    return None


def _same(old: Any, new: Any) -> bool:
    if type(old) in _PLAIN:
        return type(old) is type(new) and (old == new or old is new)
    return old is new


def _within(name: str, value: Any, met: set[int]) -> Iterator[tuple[str, Any]]:
    if type(value) in _PLAIN:
        yield name, value
        return
    yield name, value
    if isinstance(value, Tensor):
        yield f"requires_grad of {name}", value.requires_grad
    if id(value) in met or isinstance(value, _LEFT_ALONE) or _ours(value):
        return
    met.add(id(value))
    for part, item in _parts(value):
        yield from _within(f"{name}, {part}" if name == "the function" else part, item, met)


def _ours(value: Any) -> bool:
    """Whether it is a function of this library, which looks nothing up that changes."""
    return isinstance(value, FunctionType) and (value.__module__ or "").startswith("gradwire")


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, MethodType):
        yield "self", value.__self__
        yield from _parts(value.__func__)
    elif isinstance(value, FunctionType):
        yield from _looked_up(value)
    elif isinstance(value, dict):
        yield from ((str(key), item) for key, item in list(value.items()))
    elif isinstance(value, list | tuple):
        yield from ((f"item {i}", item) for i, item in enumerate(value))
    elif hasattr(value, "__dict__"):
        yield from ((f"attribute {key}", item) for key, item in list(vars(value).items()))
        forward = getattr(type(value), "forward", None) or vars(type(value)).get("__call__")
        if isinstance(forward, FunctionType):
            yield from _parts(forward)


def _looked_up(function: FunctionType) -> Iterator[tuple[str, Any]]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not bound yet
            yield f"closure {name}", cell.cell_contents
    for name in code.co_names:
        if name in function.__globals__:
            yield f"global {name}", function.__globals__[name]
    yield from ((f"default {i}", item) for i, item in enumerate(function.__defaults__ or ()))


__all__ = ["Seen", "changed", "watched"]
