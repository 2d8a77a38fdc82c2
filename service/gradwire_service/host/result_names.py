"""Ops with several results: under which names they stand, where one of them is looked for."""

from __future__ import annotations

from collections.abc import Container
from itertools import count, takewhile


def stands_under(name: str, known: Container[str]) -> str | None:
    """A hint for a name that is not there: that its op gave several results; None if it did not.

    `m` and `m.values` are meant where `m.0`, `m.1`, … are.
    """
    stem = name.rpartition(".")[0]
    for base in (name, stem):
        made = list(takewhile(known.__contains__, (f"{base}.{i}" for i in count())))
        if made:
            return (
                f"the op that made {base[:140]!r} has several results, here {' and '.join(made)}; "
                'or name each of them, as in "out": ["first", "second"]'
            )
    return None
