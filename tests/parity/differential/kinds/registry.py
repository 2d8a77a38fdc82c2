"""The table of kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.parity.differential.step import Step
from tests.parity.differential.world import World

Propose = Callable[[World], Step | None]


class Kind(NamedTuple):
    """A kind of step: how to propose one (None: not now), and its weight among all kinds."""

    propose: Propose
    weight: float


def words(text: str) -> tuple[str, ...]:
    """The words of a text: a long list of names, easy to read."""
    return tuple(text.split())


KINDS: dict[str, Kind] = {}


def kind(name: str, weight: float) -> Callable[[Propose], Propose]:
    """Register a proposer under the name that its steps count as."""

    def register(propose: Propose) -> Propose:
        KINDS[name] = Kind(propose, weight)
        return propose

    return register
