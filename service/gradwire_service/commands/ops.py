"""`gradwire ops`: the catalogue on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

import gradwire_engine.ops  # noqa: F401  (fills the catalogue)
from gradwire_engine.catalogue import CATALOGUE, inplace_twin, resolve
from gradwire_engine.examples import example
from gradwire_engine.op import Op
from gradwire_service.host.protocol import steps  # noqa: F401  (knows what is a step, and no op)


def show(name: str | None) -> None:
    """Print one op in full, or a line for each of them."""
    console = Console()
    if name is None:
        console.print(_table())
    else:
        _one(console, inplace_twin(name) or resolve(name))


def _table() -> Table:
    table = Table("op", "what it does", box=None, pad_edge=False)
    for key, op in sorted(CATALOGUE.items()):
        table.add_row(key, op.doc.partition("\n")[0])
    return table


def _one(console: Console, op: Op) -> None:
    for signature in op.signatures:
        console.print(f"{op.name}{signature}", markup=False)
    console.print(op.doc, markup=False)
    facts = {
        "also called": ", ".join(op.aliases),
        "derivative": op.formula,
        "saves": ", ".join(op.saves),
        "in place": f"{op.name}_" if op.inplace else "",
    }
    for label, fact in facts.items():
        if fact:
            console.print(f"  {label}: {fact}", markup=False)
    shown = example(op.name)
    for line in shown.split("; ") if shown else ():
        console.print(f"    {line}", markup=False, soft_wrap=True)
