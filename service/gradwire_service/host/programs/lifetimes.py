"""After which step of a program a name is of no more use, so that its memory can go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel

from gradwire_service.host.protocol.step import StepPart

Ending = tuple[str, bool]
"""A name, and whether it may be the one name of several results."""


def lifetimes(steps: Sequence[StepPart], outputs: Sequence[str]) -> list[list[Ending]]:
    """For each step the names that it or an earlier one makes and nothing after it mentions.

    Any string in a step may be a name. One name p of several results is that of p.0, p.1, … too.
    """
    made = {name for step in steps for name in _made(getattr(step, "out", None))}
    made |= {name for step in steps for name in _made(getattr(step, "values", None))}
    last: dict[str, int] = {}
    for index, step in enumerate(steps):
        for text in _strings(step):
            last[_owner(text, made)] = index
    kept = {_owner(name, made) for name in outputs}
    ending: list[list[Ending]] = [[] for _ in steps]
    numbered = {name.rpartition(".")[0] for name in made}
    for name in made - kept:
        ending[last[name]].append((name, name not in numbered))
    return ending


def forget(names: Sequence[Ending], tensors: dict[str, Any]) -> None:
    """Let go of names, and of results that are numbered after them."""
    for name, several in names:
        if tensors.pop(name, None) is None and several:
            place = 0
            while tensors.pop(f"{name}.{place}", None) is not None:
                place += 1


def _made(out: Any) -> Iterator[str]:
    for name in (out,) if isinstance(out, str) else out or ():
        if name is not None:
            yield name


def _owner(text: str, made: set[str]) -> str:
    """The name that a mention is of: itself, or the one that it is a numbered result of."""
    call, _, number = text.rpartition(".")
    return call if text not in made and call in made and number.isdigit() else text


def _strings(value: Any) -> Iterator[str]:
    """All strings in a step, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseModel):
        for item in vars(value).values():
            yield from _strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
