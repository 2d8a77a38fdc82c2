"""Source text to steps: a small, safe part of Python's grammar, parsed and never executed.

`docs/source.md` has the grammar. What comes out is what a client could have posted, but for two
things that only the host sees: temporaries of nested expressions are called `%0`, `%1`, … (no
client can write such a name; the host drops them after the request), and `{"bind": "y", "out":
"x"}` makes `x` another name of the tensor `y`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from gradwire_service.host.source.position import Text, name_line
from gradwire_service.host.source.statement import Statements
from gradwire_service.host.source.syntax import MAX_LENGTH, MAX_STEPS, tree
from gradwire_service.host.source.writer import Step, Writer

__all__ = ["MAX_LENGTH", "MAX_STEPS", "Source", "Step", "name_line", "parse", "read"]


class Source(NamedTuple):
    """The steps of a text, and for each the line (from 1) it was written on."""

    steps: list[Step]
    lines: list[int]


def read(
    text: str,
    *,
    max_length: int = MAX_LENGTH,
    max_steps: int = MAX_STEPS,
    names: Collection[str] = (),
) -> Source:
    """Turn source text into steps, in order of evaluation.

    `names` are tensors known beforehand: one called `fft` hides the namespace.
    Longer than `max_length` characters or `max_steps` steps -> limit_exceeded; whatever the grammar
    lacks -> invalid_source with line, column, what was found and what is allowed.
    """
    module = tree(text, max_length)
    writer = Writer(Text(text), max_steps, names)
    Statements(writer).write(module)
    return Source(writer.steps, writer.lines)


def parse(text: str, *, max_steps: int = MAX_STEPS, names: Collection[str] = ()) -> list[Step]:
    """The steps of `read` alone."""
    return read(text, max_steps=max_steps, names=names).steps
