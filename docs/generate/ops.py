"""docs/ops.md, from the catalogue."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby

from docs.generate import examples

import gradwire_engine.ops  # noqa: F401  (fills the catalogue)
from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.op import Composite, Op

HEAD = """# The ops

{count} ops under torch's names, made from the catalogue by `make docs`; `GET /v1/ops` and
`gradwire ops NAME` say the same. Over REST an op's last part is enough where only one op has it
(`gelu` for `nn.functional.gelu`). *In place* is the name of the form that writes to its first
tensor. In derivatives `g` is the gradient that arrives, `out` the result, `conj` the complex
conjugate. An op *of other ops* is written in them, and has whatever derivative they have.

Under each table stands an example of each op, as [source text](source.md): the call, and after the
arrow what it gives. `x.grad` is what `backward` leaves there where the elements of the result have
the gradients 1, 2, 3, … Random ops draw from seed 0. A test runs them all.
"""


def page() -> str:
    """The whole page."""
    found = sorted(CATALOGUE.values(), key=lambda op: (_module(op), op.name))
    parts = [HEAD.format(count=len(found))]
    for module, group in groupby(found, key=_module):
        parts.append("\n".join(_section(module, list(group))))
    return "\n".join(parts)


def _module(op: Op) -> str:
    return op.overloads[0].function.__module__


def _section(module: str, group: list[Op]) -> Iterator[str]:
    said = (sys.modules[module].__doc__ or "").strip().splitlines()[0]
    yield f"## {module.rpartition('.')[2].replace('_', ' ').capitalize()}\n"
    yield f"{said}\n"
    yield "| op | does | derivative |"
    yield "|---|---|---|"
    for op in group:
        yield f"| {_calls(op)} | {_does(op)} | {_derivative(op)} |"
    yield "\n```examples"
    yield from (examples.line(op.name) for op in group)
    yield "```\n"


def _calls(op: Op) -> str:
    return "<br>".join(f"`{op.name}{_cell(str(s))}`" for s in op.signatures)


def _does(op: Op) -> str:
    said = [_cell(" ".join(op.doc.split()))]
    if op.inplace and not op.name.endswith("_"):
        said.append(f"*In place:* `{op.name}_`.")
    if op.aliases:
        said.append("*Also:* " + ", ".join(f"`{alias}`" for alias in op.aliases) + ".")
    if op.data_dependent:
        said.append("The result's shape depends on data.")
    return " ".join(said)


def _derivative(op: Op) -> str:
    if op.formula:
        return f"`{_cell(op.formula)}`"
    if any(isinstance(overload, Composite) for overload in op.overloads):
        return "of other ops"
    return "yes" if any(overload.differentiable for overload in op.overloads) else "–"


def _cell(text: str) -> str:
    """Text that a table's cell can hold."""
    return text.replace("|", "\\|")
