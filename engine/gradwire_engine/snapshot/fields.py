"""Fields of a snapshot's rows, each refused where it isn't what it has to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from gradwire_engine.errors import GradwireError, error

LONGEST = 256
"""Characters of a name in the graph."""
_SHOWN = 60
T = TypeVar("T")
_WHOLE = 2**63


def incompatible(problem: str) -> GradwireError:
    """The error of a snapshot that can't be read, or that doesn't hold together."""
    return error(
        "snapshot_incompatible",
        f"snapshot: {problem}",
        "restore the bytes that GET /v1/sessions/{id}/snapshot answered, unchanged, on a server of "
        "the same version or a newer one",
    )


def shown(value: Any) -> str:
    """A value for an error text, of bounded length."""
    text = repr(value) if type(value) in (int, float, bool, str, type(None)) else type(value)
    return str(text)[:_SHOWN]


def need(holds: bool, problem: str) -> None:
    """Refuse the snapshot unless this holds."""
    if not holds:
        raise incompatible(problem)


def whole(value: Any, what: str, low: int = 0, high: int = _WHOLE) -> int:
    """An int with low <= value < high."""
    if type(value) is not int or not low <= value < high:
        raise incompatible(f"{what} is {shown(value)}, not a whole number from {low} to {high - 1}")
    return value


def flag(value: Any, what: str) -> bool:
    """A bool."""
    if type(value) is not bool:
        raise incompatible(f"{what} is {shown(value)}, not true or false")
    return value


def text(value: Any, what: str, longest: int = LONGEST) -> str:
    """A string of bounded length, without half of a surrogate pair."""
    if type(value) is not str or len(value) > longest or not _is_unicode(value):
        raise incompatible(f"{what} is {shown(value)}, not a text of at most {longest} characters")
    return value


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def listed(value: Any, what: str, count: int | None = None) -> list[Any]:
    """A list, of so many items where that is known."""
    if type(value) is not list or (count is not None and len(value) != count):
        wanted = "a list" if count is None else f"a list of {count}"
        raise incompatible(f"{what} is {shown(value)}, not {wanted}")
    return value


def named(value: Any, what: str, *names: str) -> dict[str, Any]:
    """An object; with just these names in it, where any are given."""
    if type(value) is not dict or (names and value.keys() != set(names)):
        wanted = f"an object with {', '.join(names)}" if names else "an object"
        raise incompatible(f"{what} is {shown(value)}, not {wanted}")
    return value


def flags(value: Any, what: str) -> tuple[bool, ...]:
    """A list of bools."""
    return tuple([flag(item, what) for item in listed(value, what)])


def at(table: Sequence[T], index: Any, what: str) -> T:
    """The entry of a table that a number in the snapshot stands for."""
    return table[whole(index, what, 0, len(table))]
