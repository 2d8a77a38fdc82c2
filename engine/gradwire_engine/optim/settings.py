"""Which optimisers there are, and their settings checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradwire_engine.optim.update import KINDS, Kind, refused


def kind_of(name: str) -> Kind:
    """The kind of optimiser of this name."""
    if name not in KINDS:
        raise refused(f"there is no optimiser called {name[:64]!r}", f"one of {', '.join(KINDS)}")
    return KINDS[name]


def checked(kind: Kind, given: Mapping[str, Any], *, first: bool = True) -> dict[str, Any]:
    """All settings: those given, defaults for the rest; refused where unknown or out of range.

    first: whether an optimiser is made of them; that of one may have any rate later, as in torch.
    """
    for name, value in given.items():
        if name not in kind.settings:
            raise refused(
                f"{kind.name}: there is no setting {name[:64]!r}",
                f"it has {', '.join(kind.settings)}",
                TypeError,
            )
        if not _fits(value, kind.settings[name]):
            raise refused(
                f"{kind.name}: {name} is {str(value)[:64]!r}",
                f"something like {kind.settings[name]!r}",
                TypeError,
            )
    settings = {n: _of_kind(given.get(n, default), default) for n, default in kind.settings.items()}
    kind.check(settings if first else settings | {"lr": kind.settings["lr"]})
    return settings


def _fits(value: Any, default: Any) -> bool:
    """Whether a value is of the kind of a default."""
    if default is None:
        return value is None or isinstance(value, int | float | str)
    if isinstance(default, bool):
        return isinstance(value, bool)
    if isinstance(default, tuple):
        each = isinstance(value, tuple | list) and len(value) == len(default)
        return each and all(map(_fits, value, default))
    whole = isinstance(default, int)
    return isinstance(value, int if whole else int | float) and not isinstance(value, bool)


def _of_kind(value: Any, default: Any) -> Any:
    if isinstance(default, tuple):
        return tuple(map(float, value))
    return float(value) if isinstance(default, float) else value
